// Products of a matrix and a prompt's tile of inputs, and the choice between these and batch_product, see
// product.metal.
//
// How a step's inputs are loaded into a tile that simdgroups share: in one part, with consecutive columns,
// which takes the least memory bandwidth; or if memory is short in two parts, eights 0 and 1, then 2 and 3,
// of all lanes.
template <uint PARTS> struct parts_of_step {
  typedef whole_step layout;
  enum : uint { ROW = INPUT_ROW, EIGHTS = 16 };
  template <typename T>
  static inline uint column_of(uint, uint i) { return 8u * i; }
  static inline uint place(uint i) { return column_place(8u * i); }
};
template <> struct parts_of_step<2> {
  typedef half_step layout;
  enum : uint { ROW = HALF_ROW, EIGHTS = 8 };
  template <typename T>
  static inline uint column_of(uint part, uint i) { return T::column(i / 2u, 2u * part + i % 2u); }
  static inline uint place(uint i) { return 8u * i; }
};

// Products of a prompt. All simdgroups multiply by the same tile of TOKENS inputs. It has two buffers, each
// for a part of a step. With halves, one buffer is filled while the other is multiplied; with floats, the
// buffers hold the two terms. One or two simdgroups make the same rows.
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct prompt_product {
  typedef sent_eight<typename INPUTS::element> eight_t;
  typedef matrices<W, U> matrices_t;
  typedef typename matrices_t::format format;
  enum : bool { FLOATS = eight_t::TERMS == 2u };
  enum : bool { PARTED = FLOATS || W::LATE || U::LATE }; // all weights of a step would take too many registers
  enum : uint { PARTS = COPIES && !PARTED ? 1 : 2, STEPS = (COLS + STEP - 1u) / STEP };
  typedef parts_of_step<PARTS> parts_t;
  enum : uint { BUFFER = TOKENS * parts_t::ROW, OF_ROW = parts_t::EIGHTS, APART = THREADS / OF_ROW };
  enum : uint { N = TOKENS / 8u, EIGHTS = (TOKENS * OF_ROW + THREADS - 1u) / THREADS };
  enum : uint { OF_PART = 4u / PARTS, OF_SLICE = OF_PART / SLICES }; // of a lane's four eights of weights
  enum : bool { ALL = TOKENS * OF_ROW % THREADS == 0u };             // all threads load the same number of inputs
  // The last loads of weights are for a later step than the next, so their copies may still be in flight when
  // the inputs have arrived.
  enum : bool { AHEAD = W::AHEAD > 1u && U::AHEAD > 1u };

  // A thread's share of the inputs: the same columns of several rows.
  struct shares {
    INPUTS x;
    uint rows[INPUTS::EVEN ? 1 : EIGHTS]; // where the rows begin, in elements
    uint columns[PARTS];                  // of a step's parts
    eight_t e[EIGHTS];
  };
  static inline bool has(uint k, uint tid) { return ALL || tid + k * THREADS < TOKENS * OF_ROW; }
  static inline threadgroup half * place_of(threadgroup half * buffer, uint k, uint tid) { return buffer + (tid / OF_ROW + k * APART) * parts_t::ROW + parts_t::place(tid % OF_ROW); }
  static inline device const typename INPUTS::element * row_at(thread const shares & s, uint k) {
    return INPUTS::EVEN ? s.x.base + s.rows[0] + ulong(k) * APART * INPUTS::ROW_STRIDE : s.x.base + s.rows[INPUTS::EVEN ? 0u : k];
  }

  static inline void send_part(thread shares & s, threadgroup half * buffer, uint step, uint part, uint tid) {
    if (step < STEPS) {
      const uint c = step * STEP + s.columns[part], n = columns_from<COLS>(c);
      UNROLL for (uint k = 0; k < EIGHTS; ++k)
        if (has(k, tid)) eight_t::template send<(TOKENS <= 16u)>(s.e[k], place_of(buffer, k, tid), row_at(s, k) + c, n);
    }
    COPIES_GROUP;
  }
  template <uint TERM>
  static inline void land_part(thread const shares & s, threadgroup half * buffer, uint tid) {
    UNROLL for (uint k = 0; k < EIGHTS; ++k)
      if (has(k, tid)) eight_t::template put<TERM>(s.e[k], place_of(buffer, k, tid));
  }

  // Loads the first part.
  static inline void begin_steps(thread shares & s, INPUTS x, threadgroup half * tile, uint, uint tid, ushort) {
    s.x = x;
    UNROLL for (uint k = 0; k < (INPUTS::EVEN ? 1u : EIGHTS); ++k) s.rows[k] = INPUTS::offset_of(s.x, min(tid / OF_ROW + k * APART, TOKENS - 1u));
    UNROLL for (uint part = 0; part < PARTS; ++part) s.columns[part] = parts_t::template column_of<format>(part, tid % OF_ROW);
    send_part(s, tile, 0u, 0u, tid);
  }

  // d += W X, and d + R N += U X, for the eights of a part, or if two simdgroups share rows for half of them.
  template <uint PIECE, uint PART>
  static inline void multiply_part(thread const W & w, thread const U & up, thread simdgroup_float8x8 * d, threadgroup const half * x, uint slice, threadgroup half * staged, ushort lane) {
    if (SLICES == 1u || slice == 0u) {
      matrices_t::template multiply_all<typename parts_t::layout, PIECE, N, PART * OF_PART, OF_SLICE>(w, up, d, x, staged, lane);
    } else {
      matrices_t::template multiply_all<typename parts_t::layout, PIECE, N, PART * OF_PART + OF_PART - OF_SLICE, OF_SLICE>(w, up, d, x, staged, lane);
    }
  }

  // Takes the weights of a step, and starts the loads of later weights.
  static inline void turn(thread W & w, thread U & up, uint step, ushort lane) {
    W::take(w, step, lane);
    U::take(up, step, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup); // all lanes have taken
    W::send_step(w, step + W::AHEAD, lane);
    U::send_step(up, step + U::AHEAD, lane);
    COPIES_GROUP;
  }

  // Multiplies weights by a part of a step of halves, while the inputs of the next part are in flight.
  template <uint PART>
  static inline void follow_halves(thread W & w, thread U & up, thread shares & s, threadgroup half * now, threadgroup half * other, threadgroup half * staged, thread simdgroup_float8x8 * d, uint step, uint slice, uint tid, ushort lane) {
    land_part<0>(s, now, tid);
    COPIES_LAND_BUT((PART == 1u || (PARTS == 1u && AHEAD) ? 1u : 0u)); // the loads of weights began last; those of this step have to be complete
    threadgroup_barrier(mem_flags::mem_threadgroup);                     // and all have multiplied by the other buffer
    send_part(s, other, step + (PART + 1u) / PARTS, (PART + 1u) % PARTS, tid);
    if (PART == 0u) turn(w, up, step, lane);
    W::fetch_late(w, step, lane);
    U::fetch_late(up, step, lane);
    multiply_part<piece::WHOLE, PART>(w, up, d, now, slice, staged, lane);
    if (matrices_t::TWO) multiply_part<piece::REST, PART>(w, up, d, now, slice, staged, lane);
  }

  // The same for floats, whose terms fill both buffers.
  template <uint PART>
  static inline void follow_floats(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint step, uint slice, uint tid, ushort lane) {
    threadgroup half * rest = tile + BUFFER;
    threadgroup_barrier(mem_flags::mem_threadgroup); // all have multiplied the part before
    land_part<0>(s, tile, tid);
    land_part<eight_t::TERMS - 1u>(s, rest, tid);
    COPIES_LAND;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    send_part(s, tile, step + (PART + 1u) / PARTS, (PART + 1u) % PARTS, tid);
    if (PART == 0u) turn(w, up, step, lane);
    W::fetch_late(w, step, lane);
    U::fetch_late(up, step, lane);
    multiply_part<piece::GROWN, PART>(w, up, d, tile, slice, staged, lane);
    multiply_part<piece::GROWN_REST, PART>(w, up, d, tile, slice, staged, lane);
    multiply_part<piece::SHRUNK, PART>(w, up, d, rest, slice, staged, lane);
  }

  static inline void multiply_steps(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    threadgroup half * now = tile, * other = tile + BUFFER;
    COPIES_LAND; // the first weights and inputs, which are in no group
    for (uint step = 0u; step < STEPS; ++step) {
      if (FLOATS) {
        follow_floats<0>(w, up, s, tile, staged, d, step, slice, tid, lane);
        follow_floats<PARTS - 1u>(w, up, s, tile, staged, d, step, slice, tid, lane);
      } else {
        follow_halves<0>(w, up, s, now, other, staged, d, step, slice, tid, lane);
        if (PARTS == 2u) {
          follow_halves<PARTS - 1u>(w, up, s, other, now, staged, d, step, slice, tid, lane);
        } else {
          threadgroup half * then = now;
          now = other;
          other = then;
        }
      }
    }
  }
};

// Selects one of the two: simdgroups share a tile unless they take different steps.
template <uint TOKENS, uint SLICES, uint THREADS> struct tile_kind { enum : bool { SHARED = TOKENS > 16u || 32u * SLICES < THREADS }; };

template <bool SHARED, uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct product_of : batch_product<COLS, TOKENS, SLICES, 4, COPIES, W, U, INPUTS> {};
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct product_of<true, COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> : prompt_product<COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> {};

// Two matrices of different formats, whose lanes have different columns, one after the other.
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct products_apart {
  typedef product_of<tile_kind<TOKENS, SLICES, THREADS>::SHARED, COLS, TOKENS, SLICES, THREADS, COPIES, W, no_weights, INPUTS> first_t;
  typedef product_of<tile_kind<TOKENS, SLICES, THREADS>::SHARED, COLS, TOKENS, SLICES, THREADS, COPIES, U, no_weights, INPUTS> second_t;
  struct shares {
    typename first_t::shares first;
    INPUTS x;
  };
  static inline void begin_inputs(thread shares & s, INPUTS x, threadgroup half * tile, uint slice, uint tid, ushort lane) {
    s.x = x;
    first_t::begin_steps(s.first, x, tile, slice, tid, lane);
  }
  static inline void multiply_inputs(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    no_weights none;
    first_t::multiply_steps(w, none, s.first, tile, staged, d, slice, tid, lane);
    COPIES_LAND;
    threadgroup_barrier(mem_flags::mem_threadgroup); // all have multiplied by the last inputs
    typename second_t::shares second;
    second_t::begin_steps(second, s.x, tile, slice, tid, lane);
    second_t::multiply_steps(up, none, second, tile, staged, d + W::ROW_BLOCKS * (TOKENS / 8u), slice, tid, lane);
  }
};

// A product of one matrix, or of two of one format; and the choice between this and products_apart.
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct products_together {
  typedef product_of<tile_kind<TOKENS, SLICES, THREADS>::SHARED, COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> all_t;
  typedef typename all_t::shares shares;
  static inline void begin_inputs(thread shares & s, INPUTS x, threadgroup half * tile, uint slice, uint tid, ushort lane) { all_t::begin_steps(s, x, tile, slice, tid, lane); }
  static inline void multiply_inputs(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    all_t::multiply_steps(w, up, s, tile, staged, d, slice, tid, lane);
  }
};

template <bool ALIKE, uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct products_of { typedef products_apart<COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> type; };
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct products_of<true, COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> { typedef products_together<COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS> type; };

template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, bool COPIES, typename W, typename U, typename INPUTS>
struct tile_product { typedef typename products_of<matrices<W, U>::ALIKE, COLS, TOKENS, SLICES, THREADS, COPIES, W, U, INPUTS>::type type; };
