// Products of a batch. A simdgroup takes every SLICES-th step, with tiles of inputs of its own, so that
// simdgroups do not wait for each other. With COPIES it has up to MOST tiles, for the next steps, whose
// inputs are in flight.
template <uint COLS, uint TOKENS, uint SLICES, uint MOST, bool COPIES, typename W, typename U, typename INPUTS>
struct batch_product {
  typedef sent_eight<typename INPUTS::element> eight_t;
  typedef matrices<W, U> matrices_t;
  enum : bool { FLOATS = eight_t::TERMS == 2u, SINGLE = W::SINGLE || U::SINGLE };
  enum : uint { N = TOKENS / 8u, EIGHTS = TOKENS / 2u, STEPS = (COLS + STEP - 1u) / STEP, TILE = TOKENS * INPUT_ROW };
  enum : uint { OWN_STEPS = (STEPS + SLICES - 1u) / SLICES, SOON = OWN_STEPS < 2u ? 2u : OWN_STEPS < MOST ? OWN_STEPS : MOST };
  enum : uint { TILES = !COPIES || FLOATS ? 1 : TOKENS > 8u ? 2 : SOON };
  // Each step starts a group of copies: the inputs of a later step, with weights. When a step begins, LATER
  // groups may still be in flight.
  enum : uint { WEIGHTS_LATER = W::LATER < U::LATER ? W::LATER : U::LATER, TILES_LATER = TILES - 1u };
  enum : uint { LATER = SINGLE && TILES > 1u ? 1u : WEIGHTS_LATER < TILES_LATER ? WEIGHTS_LATER : TILES_LATER };

  // A lane's share of the inputs: the same eight columns of every second row.
  struct shares {
    INPUTS x;
    uint rows[EIGHTS]; // offsets of the rows, in elements
    eight_t e[TILES * EIGHTS];
  };
  static inline threadgroup half * place_of(threadgroup half * tile, uint k, ushort lane) { return tile + (2u * k + lane / 16u) * INPUT_ROW + column_place(lane % 16u * 8u); }

  // Loads the first count inputs of the tile only.
  static inline void send_inputs(thread shares & s, threadgroup half * tiles, uint nth, uint step, uint count, ushort lane) {
    if (step < STEPS) {
      const uint c = step * STEP + lane % 16u * 8u, n = columns_from<COLS>(c);
      UNROLL for (uint k = 0; k < EIGHTS; ++k)
        if (2u * k < count) eight_t::template send<true>(s.e[nth * EIGHTS + k], place_of(tiles + nth * TILE, k, lane), s.x.base + s.rows[k] + c, n);
    }
    COPIES_GROUP;
  }
  // Sets all tiles to zero, because rows without an input are multiplied, too.
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

  // The memory in which weights are staged while tile nth is multiplied. With COPIES it is the tile whose
  // inputs are loaded next.
  static inline threadgroup half * staging_of(threadgroup half * tiles, uint nth, threadgroup half * staged) {
    return COPIES ? tiles + (FLOATS ? 1u : nth == 0u ? TILES - 1u : nth - 1u) * TILE : staged;
  }

  // Multiplies by the inputs of a step, in tile nth. NEXT starts the loads of the weights and inputs that take
  // the place of the step's.
  template <typename NEXT>
  static inline void multiply_tile(thread W & w, thread U & up, thread shares & s, threadgroup half * tiles, uint nth, threadgroup half * staged, thread simdgroup_float8x8 * d, uint step, thread NEXT & next, ushort lane) {
    threadgroup half * tile = tiles + nth * TILE;
    land_inputs<0>(s, tiles, nth, lane);
    COPIES_LAND_BUT(LATER);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool any = STEPS % SLICES == 0u || step < STEPS; // false if only other simdgroups still have a step
    if (any) {
      W::take(w, step, lane);
      U::take(up, step, lane);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup); // all lanes have taken
    NEXT::send_weights(next, w, up, lane);
    if (SINGLE) COPIES_GROUP; // they are taken before the inputs that are loaded later
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

  // NEXT for later steps of the same rows.
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
      const uint nth = TILES > 1u ? turn : 0u; // a constant if inputs are in registers, which cannot be indexed
      same_rows next = {step};
      multiply_tile(w, up, s, tiles, nth, staging_of(tiles, nth, staged), d, step, next, lane);
      turn = nth + 1u == TILES ? 0u : nth + 1u;
    }
  }
};
