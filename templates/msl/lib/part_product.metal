// Eight inputs of a product on the way to its tile; the first n of them exist: 8, 4 or 0.
template <typename INPUTS>
struct loaded_eight {
  typedef typename INPUTS::element X;
  eight_inputs<X> e;
  static inline void fetch(thread loaded_eight & l, INPUTS x, uint row, uint column, uint n) {
    device const X * p = x.base + row + column;
    if (n == 8u) eight_inputs<X>::load(l.e, p);
    else if (n == 4u) eight_inputs<X>::load_four(l.e, p);
    else eight_inputs<X>::none(l.e);
  }
  template <uint N>
  static inline void keep(thread const loaded_eight & l, threadgroup X * to) { operand<X>::template put<N>(to, l.e); }
};

// Products on devices whose copies pass through registers, and where a product of floats takes no longer than
// one of halves. Each simdgroup has few matrices of results, one step of weights, and a part of a step of
// inputs, so that many simdgroups run on a core and hide latency.
//
// Simdgroups that share rows take different steps, and each has a tile of its own, with a smaller part of a
// step. Other simdgroups share a tile.
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, typename W, typename U, typename INPUTS>
struct part_product {
  typedef typename INPUTS::element X;
  typedef operand<X> operand_t;
  typedef typename W::format T;
  enum : bool { SHARED = SLICES == 1u && THREADS > 32u, TWO = two_pieces<X, T>::VALUE };
  enum : uint { N = TOKENS / 8u, R = W::ROW_BLOCKS + U::ROW_BLOCKS, STEPS = (COLS + STEP - 1u) / STEP };
  // A part has FOURS times four columns of each of four lanes; half as many in tiles of single simdgroups.
  // COPIED neighbouring columns are copied at a time. STAGED blocks of rows of weights, with LANE columns of
  // each lane, are staged at a time.
  enum : uint { FOURS = SHARED ? operand_t::FOURS : operand_t::FOURS / 2u, PARTS = 8u / FOURS, COPIED = FOURS < 2u ? 4u : 8u };
  enum : uint { OF_ROW = 16u * FOURS / COPIED, OF_LANE = OF_ROW / 4u, ROW = 16u * FOURS + 16u / sizeof(X) };
  enum : uint { LOADERS = SHARED ? THREADS : 32u, APART = LOADERS / OF_ROW, LOADS = (TOKENS + APART - 1u) / APART };
  enum : uint { STAGED = operand_t::STAGED, LANE = COPIED, TIMES = 4u * FOURS / LANE, WEIGHT_ROW = 4u * LANE + 4u };

  // A thread's share of a part: the same columns of every APART-th input.
  struct shares {
    INPUTS x;
    uint rows[LOADS]; // offsets of the rows, in elements
    loaded_eight<INPUTS> e[LOADS];
  };
  static inline uint thread_of(uint tid, ushort lane) { return SHARED ? tid : uint(lane); }
  static inline void wait() {
    if (SHARED) threadgroup_barrier(mem_flags::mem_threadgroup);
    else simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  static inline uint column_of(uint step, uint part, uint own) {
    const uint four = part * FOURS + own % OF_LANE * (COPIED / 4u);
    return step * STEP + T::column(own % OF_ROW / OF_LANE, four / 2u) + four % 2u * 4u;
  }
  static inline void fetch_part(thread shares & s, uint step, uint part, uint own) {
    const uint c = column_of(step, part, own), there = COPIED == 8u ? columns_from<COLS>(c) : c < COLS ? 4u : 0u, n = step < STEPS ? there : 0u;
    UNROLL for (uint k = 0; k < LOADS; ++k) loaded_eight<INPUTS>::fetch(s.e[k], s.x, s.rows[k], c, n);
  }
  static inline void put_part(thread const shares & s, threadgroup X * tile, uint own) {
    UNROLL for (uint k = 0; k < LOADS; ++k) {
      const uint row = own / OF_ROW + k * APART;
      if (TOKENS % APART == 0u || row < TOKENS) loaded_eight<INPUTS>::template keep<COPIED>(s.e[k], tile + row * ROW + own % OF_ROW * COPIED);
    }
  }

  static inline void begin_steps(thread shares & s, INPUTS x, uint slice, uint tid, ushort lane) {
    const uint own = thread_of(tid, lane);
    s.x = x;
    UNROLL for (uint k = 0; k < LOADS; ++k) s.rows[k] = INPUTS::offset_of(s.x, min(own / OF_ROW + k * APART, TOKENS - 1u));
    fetch_part(s, slice, 0u, own);
  }

  // d += W X for the nth LANE columns of each lane in a part. The weights pass through threadgroup memory,
  // STAGED blocks of rows at a time.
  template <uint PIECE>
  static inline void multiply_lanes(thread W & w, thread U & up, thread simdgroup_float8x8 * d, uint step, uint part, uint nth, threadgroup const X * tile, threadgroup X * staged, ushort lane) {
    const uint four = part * FOURS + nth * 2u;
    UNROLL for (uint r = 0; r < R; r += STAGED) {
      UNROLL for (uint i = 0; i < STAGED; ++i) {
        typename operand_t::four v[2];
        if (r + i < W::ROW_BLOCKS) W::template decode<X, PIECE>(w, step, four / 2u, r + i, v, lane);
        else U::template decode<X, PIECE>(up, step, four / 2u, r + i - W::ROW_BLOCKS, v, lane);
        UNROLL for (uint u = 0; u < LANE / 4u; ++u) {
          *(threadgroup typename operand_t::four *)(staged + (lane / 4u + 8u * i) * WEIGHT_ROW + lane % 4u * LANE + 4u * u) = v[four % 2u + u];
        }
      }
      if (r + STAGED == R && part + 1u == PARTS && nth + 1u == TIMES && PIECE == (TWO ? uint(piece::REST) : uint(piece::WHOLE))) {
        W::fetch_step(w, step + SLICES, lane);
        U::fetch_step(up, step + SLICES, lane);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      UNROLL for (uint p = 0; p < LANE / 2u; ++p) {
        typename operand_t::matrix a[STAGED];
        UNROLL for (uint i = 0; i < STAGED; ++i) simdgroup_load(a[i], staged + i * 8u * WEIGHT_ROW + p * 8u, WEIGHT_ROW);
        UNROLL for (uint n = 0; n < N; ++n) {
          typename operand_t::matrix b;
          simdgroup_load(b, tile + 8u * n * ROW + 8u * (p * TIMES + nth), ROW, 0, true);
          UNROLL for (uint i = 0; i < STAGED; ++i) simdgroup_multiply_accumulate(d[(r + i) * N + n], a[i], b, d[(r + i) * N + n]);
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  static inline void multiply_steps(thread W & w, thread U & up, thread shares & s, threadgroup X * tile, threadgroup X * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    const uint own = thread_of(tid, lane);
    for (uint step = slice; step < STEPS; step += SLICES) {
      UNROLL for (uint part = 0; part < PARTS; ++part) {
        wait(); // all have multiplied the part before
        put_part(s, tile, own);
        wait();
        fetch_part(s, part + 1u < PARTS ? step : step + SLICES, (part + 1u) % PARTS, own);
        UNROLL for (uint nth = 0; nth < TIMES; ++nth) {
          multiply_lanes<piece::WHOLE>(w, up, d, step, part, nth, tile, staged, lane);
          if (TWO) multiply_lanes<piece::REST>(w, up, d, step, part, nth, tile, staged, lane);
        }
      }
    }
  }
};

// One matrix, or two of one format at once; with different formats, whose lanes have different columns, one
// after the other.
template <bool ALIKE, uint COLS, uint TOKENS, uint SLICES, uint THREADS, typename W, typename U, typename INPUTS>
struct part_products {
  typedef part_product<COLS, TOKENS, SLICES, THREADS, W, U, INPUTS> all_t;
  typedef typename INPUTS::element X;
  typedef typename all_t::shares shares;
  static inline void begin_inputs(thread shares & s, INPUTS x, threadgroup half *, uint slice, uint tid, ushort lane) { all_t::begin_steps(s, x, slice, tid, lane); }
  static inline void multiply_inputs(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    all_t::multiply_steps(w, up, s, (threadgroup X *)tile, (threadgroup X *)staged, d, slice, tid, lane);
  }
};
template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, typename W, typename U, typename INPUTS>
struct part_products<false, COLS, TOKENS, SLICES, THREADS, W, U, INPUTS> {
  typedef part_product<COLS, TOKENS, SLICES, THREADS, W, no_step, INPUTS> first_t;
  typedef part_product<COLS, TOKENS, SLICES, THREADS, U, no_step, INPUTS> second_t;
  typedef typename INPUTS::element X;
  typedef typename first_t::shares shares;
  static inline void begin_inputs(thread shares & s, INPUTS x, threadgroup half *, uint slice, uint tid, ushort lane) { first_t::begin_steps(s, x, slice, tid, lane); }
  static inline void multiply_inputs(thread W & w, thread U & up, thread shares & s, threadgroup half * tile, threadgroup half * staged, thread simdgroup_float8x8 * d, uint slice, uint tid, ushort lane) {
    no_step none;
    first_t::multiply_steps(w, none, s, (threadgroup X *)tile, (threadgroup X *)staged, d, slice, tid, lane);
    typename second_t::shares second;
    second_t::begin_steps(second, s.x, slice, tid, lane);
    second_t::multiply_steps(up, none, second, (threadgroup X *)tile, (threadgroup X *)staged, d + W::ROW_BLOCKS * (TOKENS / 8u), slice, tid, lane);
  }
};

template <uint COLS, uint TOKENS, uint SLICES, uint THREADS, typename W, typename U, typename INPUTS>
struct part_tile { typedef part_products<steps_alike<W, U>::VALUE, COLS, TOKENS, SLICES, THREADS, W, U, INPUTS> type; };

// norm_factors with one input of a simdgroup after the other. As many loads in flight as in norm_factors
// would take more registers than the products do.
template <uint COUNT, uint STRIDE, uint TOKENS, uint SIMDGROUPS, typename WHICH>
static inline void norm_factors_in_turn(device const float * squares, WHICH rows, float n, float eps, threadgroup float * factors, ushort sg, ushort lane) {
  enum : uint { EACH = (COUNT + 31u) / 32u };
  for (uint t = sg; t < TOKENS; t += SIMDGROUPS) {
    float partials[EACH];
    load_partials<COUNT, 32u>(squares + ulong(WHICH::row_of(rows, t) / WHICH::K) * STRIDE, lane, partials);
    const float sum = simd_sum(sum_of<EACH>(partials));
    if (lane == 0) factors[t] = norm_factor(sum, n, eps);
  }
}
