// Mat-vecs: how the lanes of one or more simdgroups share the blocks of a row, and their sums.
//
// The format T for LANES lanes that share BLOCKS blocks. K-quants are templates over the number of lanes that
// share a block; it is doubled if fewer lanes are idle then.
template <typename T, uint BLOCKS, uint LANES>
struct lane_layout { typedef T format; };

template <template <uint> class T, uint SHARE, uint BLOCKS, uint LANES>
struct lane_layout<T<SHARE>, BLOCKS, LANES> {
  enum : uint { PASSES = (BLOCKS * SHARE + LANES - 1u) / LANES, HALF_PASSES = (2u * BLOCKS * SHARE + LANES - 1u) / LANES };
  typedef T<(uint(HALF_PASSES) < 2u * uint(PASSES) ? 2u * SHARE : SHARE)> format;
};

// The inputs of ROWS rows, STRIDE elements apart, used like a single input.
template <typename X, ushort ROWS, uint STRIDE> struct in_rows { X first; };

// Input i of in_rows.
template <typename X, ushort ROWS, uint STRIDE>
static inline X input_of(in_rows<X, ROWS, STRIDE> x, uint i) { return X{x.first.p + i * STRIDE}; }

// Multiplies one block of N rows of weights by an input. With several inputs, sum[i * N + r] is for input i
// and equals what that input alone would give. The compiler merges the loads and decoding of the block for
// all inputs.
template <typename T, ushort N, uint COLS, typename X>
static inline void take_block(device const uchar * w, X x, uint b, uint part, thread float * sum) {
  T::template step<N, COLS>(w, x, b, part, sum);
}

template <typename T, ushort N, uint COLS, typename X, ushort ROWS, uint STRIDE>
static inline void take_block(device const uchar * w, in_rows<X, ROWS, STRIDE> x, uint b, uint part, thread float * sum) {
  UNROLL for (ushort i = 0; i < ROWS; ++i) T::template step<N, COLS>(w, input_of(x, i), b, part, sum + i * N);
}

// sum[r] += columns [begin, end) of row r · x for N rows of COLS columns: the share of one of LANES lanes. x
// may be several inputs.
template <typename FORMAT, ushort N, uint COLS, uint LANES, uint FLIGHT, typename X>
static inline void dot_one(device const uchar * w, X x, uint begin, uint end, uint lane, thread float * sum) {
  typedef typename lane_layout<FORMAT, COLS / FORMAT::COLUMNS, LANES>::format T;
  const uint share = T::share(COLS), pass = LANES / share, last = end / T::COLUMNS;
  const uint mine = lane / share, part = lane % share;
  uint b = begin / T::COLUMNS;
  IN_FLIGHT for (; b + pass <= last; b += pass) take_block<T, N, COLS>(w, x, b + mine, part, sum);
  if (b + mine < last) take_block<T, N, COLS>(w, x, b + mine, part, sum);
}

// dot_one for two matrices. If lanes share the blocks of both formats alike, an input is loaded once for
// both.
template <typename FORMAT, typename OTHER, ushort N, uint COLS, uint LANES, uint FLIGHT, typename X>
static inline void dot_both(device const uchar * w, device const uchar * u, X x, uint begin, uint end, uint lane,
                            thread float * sum_w, thread float * sum_u) {
  enum : uint { EACH = (FLIGHT + 1u) / 2u };
  typedef typename lane_layout<FORMAT, COLS / FORMAT::COLUMNS, LANES>::format T;
  typedef typename lane_layout<OTHER, COLS / OTHER::COLUMNS, LANES>::format U;
  if (uint(T::COLUMNS) == uint(U::COLUMNS) && T::share(COLS) == U::share(COLS)) {
    const uint share = T::share(COLS), pass = LANES / share, last = end / T::COLUMNS;
    const uint mine = lane / share, part = lane % share;
    uint b = begin / T::COLUMNS;
    BOTH_IN_FLIGHT for (; b + pass <= last; b += pass) {
      take_block<T, N, COLS>(w, x, b + mine, part, sum_w);
      take_block<U, N, COLS>(u, x, b + mine, part, sum_u);
    }
    if (b + mine < last) {
      take_block<T, N, COLS>(w, x, b + mine, part, sum_w);
      take_block<U, N, COLS>(u, x, b + mine, part, sum_u);
    }
  } else {
    dot_one<FORMAT, N, COLS, LANES, FLIGHT>(w, x, begin, end, lane, sum_w);
    dot_one<OTHER, N, COLS, LANES, FLIGHT>(u, x, begin, end, lane, sum_u);
  }
}
