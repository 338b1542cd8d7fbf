// Products of a batch: a simdgroup takes every SLICES-th step, for which it has a tile of inputs of its own; with
// COPIES several, MOST at most, of the steps that follow, whose inputs are on their way. So simdgroups do not wait
// for each other.
template <uint COLS, uint TOKENS, uint SLICES, uint MOST, bool COPIES, typename W, typename U, typename INPUTS>
struct batch_product {
  typedef sent_eight<typename INPUTS::element> eight_t;
  typedef matrices<W, U> matrices_t;
  enum : bool { FLOATS = eight_t::TERMS == 2u, SINGLE = W::SINGLE || U::SINGLE };
  enum : uint { N = TOKENS / 8u, EIGHTS = TOKENS / 2u, STEPS = (COLS + STEP - 1u) / STEP, TILE = TOKENS * INPUT_ROW };
  enum : uint { OWN_STEPS = (STEPS + SLICES - 1u) / SLICES, SOON = OWN_STEPS < 2u ? 2u : OWN_STEPS < MOST ? OWN_STEPS : MOST };
  enum : uint { TILES = !COPIES || FLOATS ? 1 : TOKENS > 8u ? 2 : SOON };
  // Each step loads the inputs of a later one, with weights that were loaded before them, or after
  // those. When it begins, this number of these groups of copies may still be in flight.
  enum : uint { WEIGHTS_LATER = W::LATER < U::LATER ? W::LATER : U::LATER, TILES_LATER = TILES - 1u };
  enum : uint { LATER = SINGLE && TILES > 1u ? 1u : WEIGHTS_LATER < TILES_LATER ? WEIGHTS_LATER : TILES_LATER };

  // A lane's share of the inputs: the same eight columns of every other row.
  struct shares {
    INPUTS x;
    uint rows[EIGHTS]; // where the rows begin, in elements
    eight_t e[TILES * EIGHTS];
  };
  static inline threadgroup half * place_of(threadgroup half * tile, uint k, ushort lane) { return tile + (2u * k + lane / 16u) * INPUT_ROW + column_place(lane % 16u * 8u); }

  // Of count inputs, the first of the tile: no others are loaded.
  static inline void send_inputs(thread shares & s, threadgroup half * tiles, uint nth, uint step, uint count, ushort lane) {
    if (step < STEPS) {
      const uint c = step * STEP + lane % 16u * 8u, n = columns_from<COLS>(c);
      UNROLL for (uint k = 0; k < EIGHTS; ++k)
        if (2u * k < count) eight_t::template send<true>(s.e[nth * EIGHTS + k], place_of(tiles + nth * TILE, k, lane), s.x.base + s.rows[k] + c, n);
    }
    COPIES_GROUP;
  }
  // Makes all tiles zeros: what no input comes to is multiplied, too.
  static inline void clear_tiles(thread shares & s, threadgroup half * tiles, ushort lane) {
    UNROLL for (uint i = 0; i < TILES * EIGHTS; ++i) eight_t::template send<true>(s.e[i], place_of(tiles + i / EIGHTS * TILE, i % EIGHTS, lane), s.x.base, 0u);
    COPIES_LAND;
  }
  template <uint TERM>
  static inline void land_inputs(thread const shares & s, threadgroup half * tiles, uint nth, ushort lane) {
    UNROLL for (uint k = 0; k < EIGHTS; ++k) eight_t::template put<TERM>(s.e[nth * EIGHTS + k], place_of(tiles + nth * TILE, k, lane));
  }

  static inline void begin_steps(thread shares & s, INPUTS x, threadgroup half * tiles, uint slice, uint, ushort lane) {
    s.x = x;
    UNROLL for (uint k = 0; k < EIGHTS; ++k) s.rows[k] = INPUTS::offset_of(s.x, 2u * k + lane / 16u);
    UNROLL for (uint i = 0; i < TILES; ++i) send_inputs(s, tiles, i, slice + i * SLICES, TOKENS, lane);
  }

  // The tile whose inputs were loaded last when those of the tile nth are multiplied. Weights pass through it, as
  // its inputs have not arrived, unless lanes know their elements.
  static inline threadgroup half * staging_of(threadgroup half * tiles, uint nth, threadgroup half * staged) {
    return COPIES ? tiles + (FLOATS ? 1u : nth == 0u ? TILES - 1u : nth - 1u) * TILE : staged;
  }

  // Multiplies by the inputs of a step, in the tile nth. NEXT loads the weights that come into the place of the
  // step's, and for the inputs.
  template <typename NEXT>
  static inline void multiply_tile(thread W & w, thread U & up, thread shares & s, threadgroup half * tiles, uint nth, threadgroup half * staged, thread simdgroup_float8x8 * d, uint step, thread NEXT & next, ushort lane) {
    threadgroup half * tile = tiles + nth * TILE;
    land_inputs<0>(s, tiles, nth, lane);
    COPIES_LAND_BUT(LATER);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool any = STEPS % SLICES == 0u || step < STEPS; // or other simdgroups have a step more
    if (any) {
      W::take(w, step, lane);
      U::take(up, step, lane);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup); // all lanes have taken
    NEXT::send_weights(next, w, up, lane);
    if (SINGLE) COPIES_GROUP; // they are taken next, before the inputs that are loaded after them
    W::fetch_late(w, step, lane);
    U::fetch_late(up, step, lane);
    if (any && !FLOATS) {
      matrices_t::template multiply_all<whole_step, piece::WHOLE, N, 0, 4>(w, up, d, tile, staged, lane);
      if (matrices_t::TWO) matrices_t::template multiply_all<whole_step, piece::REST, N, 0, 4>(w, up, d, tile, staged, lane);
    } else if (any) {
      matrices_t::template multiply_all<whole_step, piece::GROWN, N, 0, 4>(w, up, d, tile, staged, lane);
      matrices_t::template multiply_all<whole_step, piece::GROWN_REST, N, 0, 4>(w, up, d, tile, staged, lane);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      land_inputs<eight_t::TERMS - 1u>(s, tiles, nth, lane);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      matrices_t::template multiply_all<whole_step, piece::SHRUNK, N, 0, 4>(w, up, d, tile, staged, lane);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup); // all lanes have read the tile
    NEXT::send_next(next, s, tiles, nth, lane);
  }

  // The steps of the same rows.
  struct same_rows {
    uint step;
    static inline void send_weights(thread same_rows & n, thread W & w, thread U & up, ushort lane) {
      W::send_step(w, n.step + W::AHEAD * SLICES, lane);
      U::send_step(up, n.step + U::AHEAD * SLICES, lane);
    }
    static inline void send_next(thread same_rows & n, thread shares & s, threadgroup half * tiles, uint nth, ushort lane) { send_inputs(s, tiles, nth, n.step + TILES * SLICES, TOKENS, lane); }
  };

  static inline void multiply_steps(thread W & w, thread U & up, thread shares & s, threadgroup half * tiles, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint, ushort lane) {
    uint turn = 0u;
    for (uint step = slice; step < STEPS; step += SLICES) {
      const uint nth = TILES > 1u ? turn : 0u; // a constant where inputs come in registers, which have no index
      same_rows next = {step};
      multiply_tile(w, up, s, tiles, nth, staging_of(tiles, nth, staged), d, step, next, lane);
      turn = nth + 1u == TILES ? 0u : nth + 1u;
    }
  }
};
