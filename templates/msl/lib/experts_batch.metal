// Up to TOKENS selections of one expert.
struct expert_entry {
  uint expert, inputs, first; // `inputs` selections, the first of them at `first` in the list
};

// The tiles of a batch's experts. Each entry has GROUPS tiles, with ROWS rows of its expert's weights each.
template <uint GROUPS, uint ROWS, uint TOKENS, uint PER_ROW>
struct entry_tiles {
  enum : bool { EVEN = false };
  enum : uint { K = PER_ROW };
  threadgroup const expert_entry * entries;
  threadgroup const uint * members;
  uint tile;

  static inline uint nth_of(entry_tiles t) { return t.tile / GROUPS; }
  static inline expert_entry entry_of(entry_tiles t) { return t.entries[nth_of(t)]; }
  static inline uint first_row(entry_tiles t) { return t.tile % GROUPS * ROWS; }
  // The rest of a tile repeats the last input.
  static inline uint row_of(entry_tiles t, uint i) { return t.members[entry_of(t).first + min(i, entry_of(t).inputs - 1u)]; }

  // Lists the entries of all EXPERTS experts, and returns their number. All simdgroups count, but only one with
  // `writes` stores.
  template <uint EXPERTS>
  static inline uint list_entries(device const uint * starts, threadgroup expert_entry * entries, bool writes, ushort lane) {
    enum : uint { EACH = (EXPERTS + 31u) / 32u };
    uint first[EACH], end[EACH], all = 0u;
    UNROLL for (uint i = 0; i < EACH; ++i) {
      const uint e = min(32u * i + lane, EXPERTS);
      first[i] = starts[e];
      end[i] = starts[min(e + 1u, EXPERTS)];
    }
    UNROLL for (uint i = 0; i < EACH; ++i) {
      const uint count = (end[i] - first[i] + TOKENS - 1u) / TOKENS, behind = all + simd_prefix_inclusive_sum(count);
      for (uint nth = 0u; writes && nth < count; ++nth) {
        const uint at = first[i] + nth * TOKENS;
        const expert_entry e = {32u * i + lane, min(end[i] - at, TOKENS), at};
        entries[behind - count + nth] = e;
      }
      all = simd_max(behind);
    }
    return all;
  }
};

// The matrices of all experts: one or two for each.
struct experts_matrices {
  device const uchar * w;
  device const uchar * up;
  ulong stride, up_stride;
};

// Products of the tiles that a persistent threadgroup takes, one after the other. Weights and inputs are
// loaded without a gap between tiles: those of the next tile are in flight while the results of the current
// tile are stored. For this the threadgroup must know its next AHEAD tiles. Whenever it begins a tile, it
// draws a ticket for a later one, so that faster threadgroups take more tiles, and all end at nearly the same
// time. All SLICES simdgroups share the rows of a tile.
template <bool ALIKE, uint COLS, uint ROWS, uint SLICES, bool COPIES, typename W, typename U, typename INPUTS, uint TOKENS>
struct tile_run {
  typedef batch_product<COLS, TOKENS, SLICES, 2, COPIES, W, U, INPUTS> product_t;
  typedef typename INPUTS::which_t tiles_t;

  // The number of known tiles after the current one: as many as start to load before it ends.
  enum : uint { LEAD = W::AHEAD > product_t::TILES ? W::AHEAD : product_t::TILES, AHEAD = (LEAD + product_t::OWN_STEPS - 1u) / product_t::OWN_STEPS };

  // The step whose loads start next: step `step` of known tile `nth`. Beyond the known tiles, and beyond all
  // tiles, nothing is loaded.
  struct coming_step { uint nth, step; };
  // Moves to the next step, and returns whether this begins a tile.
  static inline bool advance(thread coming_step & c, uint slice) {
    c.step += SLICES;
    if (c.step < product_t::OWN_STEPS * SLICES) return false;
    c.step = slice;
    ++c.nth;
    return true;
  }

  struct state {
    experts_matrices m;
    typename product_t::shares inputs;
    coming_step weights, next;
    uint known[AHEAD + 1u]; // the current tile, and the next ones
    uint behind, slice, turn, count; // count: number of inputs of the tile whose inputs are being loaded

    static inline uint tile_of(thread const state & s, coming_step c) {
      uint tile = s.behind;
      UNROLL for (uint i = 0; i <= AHEAD; ++i) tile = c.nth == i ? s.known[i] : tile;
      return tile;
    }
    static inline uint step_of(thread const state & s, coming_step c) { return tile_of(s, c) < s.behind ? c.step : product_t::STEPS + SLICES; }
    static inline void send_weights(thread state & s, thread W & w, thread U & up, ushort lane) {
      const uint step = step_of(s, s.weights);
      W::send_step(w, step, lane);
      U::send_step(up, step, lane);
      if (advance(s.weights, s.slice)) begin_weights(s, w, up, lane);
    }
    static inline void begin_weights(thread state & s, thread W & w, thread U & up, ushort lane) {
      tiles_t t = s.inputs.x.rows;
      t.tile = tile_of(s, s.weights);
      if (t.tile >= s.behind) return;
      const ulong expert = tiles_t::entry_of(t).expert;
      W::begin_rows(w, s.m.w + expert * s.m.stride, tiles_t::first_row(t), ROWS - 1u, lane);
      U::begin_rows(up, s.m.up + expert * s.m.up_stride, tiles_t::first_row(t), ROWS - 1u, lane);
    }
    static inline void send_next(thread state & s, thread typename product_t::shares & inputs, threadgroup half * tiles, uint nth, ushort lane) {
      product_t::send_inputs(inputs, tiles, nth, step_of(s, s.next), s.count, lane);
      if (advance(s.next, s.slice)) begin_inputs(s, inputs, lane);
    }
    // Tiles of one entry have the same inputs.
    static inline void begin_inputs(thread state & s, thread typename product_t::shares & inputs, ushort lane) {
      const uint tile = tile_of(s, s.next), before = tiles_t::nth_of(inputs.x.rows);
      if (tile >= s.behind) return;
      inputs.x.rows.tile = tile;
      if (tiles_t::nth_of(inputs.x.rows) != before) find_rows(s, inputs, lane);
    }
    static inline void find_rows(thread state & s, thread typename product_t::shares & inputs, ushort lane) {
      s.count = tiles_t::entry_of(inputs.x.rows).inputs;
      UNROLL for (uint k = 0; k < product_t::EIGHTS; ++k) inputs.rows[k] = INPUTS::offset_of(inputs.x, 2u * k + lane / 16u);
    }
  };

  // Sets all tiles of inputs to zero, before anything is loaded.
  static inline void clear(thread state & s, INPUTS x, threadgroup half * tiles, ushort lane) {
    s.inputs.x = x;
    product_t::clear_tiles(s.inputs, tiles, lane);
  }
  // Begins with the tile of x, and knows those that follow it at a distance of APART.
  template <uint APART>
  static inline void begin_run(thread state & s, thread W & w, thread U & up, experts_matrices m, INPUTS x, uint behind, threadgroup half * tiles, threadgroup uchar * room, uint up_room, uint slice, ushort lane) {
    s.m = m;
    s.inputs.x = x;
    s.behind = behind;
    s.slice = slice;
    s.turn = 0u;
    UNROLL for (uint i = 0; i <= AHEAD; ++i) s.known[i] = x.rows.tile + i * APART;
    s.weights.nth = s.next.nth = 0u;
    s.weights.step = s.next.step = slice;
    W::begin(w, m.w, 0u, 0u, room, lane);
    U::begin(up, m.up, 0u, 0u, room + up_room, lane);
    state::begin_weights(s, w, up, lane);
    UNROLL for (uint i = 0; i < W::AHEAD; ++i) state::send_weights(s, w, up, lane);
    GRID_WAIT;
    state::find_rows(s, s.inputs, lane);
    UNROLL for (uint i = 0; i < product_t::TILES; ++i) state::send_next(s, s.inputs, tiles, i, lane);
  }

  // The current tile.
  static inline uint now(thread const state & s) { return s.known[0]; }
  // Moves to the next tile, and adds another to the known ones.
  static inline void follow(thread state & s, thread W & w, thread U & up, uint another, ushort lane) {
    UNROLL for (uint i = 0; i < AHEAD; ++i) s.known[i] = s.known[i + 1u];
    s.known[AHEAD] = another;
    if (s.weights.nth-- == AHEAD + 1u) state::begin_weights(s, w, up, lane);
    if (s.next.nth-- == AHEAD + 1u) state::begin_inputs(s, s.inputs, lane);
  }

  static inline void multiply_next(thread state & s, thread W & w, thread U & up, threadgroup half * tiles, threadgroup half * staged, threadgroup uchar *, uint, thread simdgroup_float8x8 * d, ushort lane) {
    for (uint step = s.slice; step < product_t::OWN_STEPS * SLICES; step += SLICES) {
      const uint nth = product_t::TILES > 1u ? s.turn : 0u;
      product_t::multiply_tile(w, up, s.inputs, tiles, nth, product_t::staging_of(tiles, nth, staged), d, step, s, lane);
      s.turn = nth + 1u == product_t::TILES ? 0u : nth + 1u;
    }
  }
};

// For two matrices of different formats, whose lanes have different columns. Loads do not go beyond a tile.
template <uint COLS, uint ROWS, uint SLICES, bool COPIES, typename W, typename U, typename INPUTS, uint TOKENS>
struct tile_run<false, COLS, ROWS, SLICES, COPIES, W, U, INPUTS, TOKENS> {
  typedef products_apart<COLS, TOKENS, SLICES, 32u * SLICES, COPIES, W, U, INPUTS> product_t;
  typedef typename INPUTS::which_t tiles_t;
  enum : uint { AHEAD = 1u };
  struct state {
    experts_matrices m;
    INPUTS x;
    uint known[2], slice;
  };
  static inline void clear(thread state &, INPUTS, threadgroup half *, ushort) {}
  template <uint APART>
  static inline void begin_run(thread state & s, thread W &, thread U &, experts_matrices m, INPUTS x, uint, threadgroup half *, threadgroup uchar *, uint, uint slice, ushort) {
    GRID_WAIT;
    s.known[0] = x.rows.tile;
    s.known[1] = x.rows.tile + APART;
    s.m = m;
    s.x = x;
    s.slice = slice;
  }
  static inline uint now(thread const state & s) { return s.known[0]; }
  static inline void follow(thread state & s, thread W &, thread U &, uint another, ushort) {
    s.known[0] = s.known[1];
    s.known[1] = another;
  }
  static inline void multiply_next(thread state & s, thread W & w, thread U & up, threadgroup half * tiles, threadgroup half * staged, threadgroup uchar * room, uint up_room, thread simdgroup_float8x8 * d, ushort lane) {
    s.x.rows.tile = now(s);
    const ulong expert = tiles_t::entry_of(s.x.rows).expert;
    W::begin(w, s.m.w + expert * s.m.stride, tiles_t::first_row(s.x.rows), ROWS - 1u, room, lane);
    U::begin(up, s.m.up + expert * s.m.up_stride, tiles_t::first_row(s.x.rows), ROWS - 1u, room + up_room, lane);
    W::send_first(w, s.slice, SLICES, lane);
    U::send_first(up, s.slice, SLICES, lane);
    typename product_t::shares inputs;
    product_t::begin_inputs(inputs, s.x, tiles, s.slice, 0u, lane);
    product_t::multiply_inputs(w, up, inputs, tiles, staged, d, s.slice, 0u, lane);
  }
};
