// Preloading: weights that a lane loads before it may read inputs, see GRID_WAIT.
//
// The preloaded share of a lane in a block of N rows. A format that can preload has a specialisation with
// PRELOADS; the weights of other formats are loaded with the inputs.
template <typename T, ushort N, uint COLS>
struct preloaded {
  enum : bool { PRELOADS = false };

  static inline void load(device const uchar *, uint, uint, thread preloaded &) {}

  template <typename X>
  static inline void multiply(thread const preloaded &, X, uint, uint, thread float *) {}
};

// take_block for a preloaded block.
template <typename LOADED, ushort N, typename X>
static inline void take_preloaded(thread const LOADED & h, X x, uint b, uint part, thread float * sum) {
  LOADED::multiply(h, x, b, part, sum);
}

template <typename LOADED, ushort N, typename X, ushort ROWS, uint STRIDE>
static inline void take_preloaded(thread const LOADED & h, in_rows<X, ROWS, STRIDE> x, uint b, uint part, thread float * sum) {
  UNROLL for (ushort i = 0; i < ROWS; ++i) LOADED::multiply(h, input_of(x, i), b, part, sum + i * N);
}

// The blocks of dot_one's first pass over whole rows, of one of MATRICES matrices. Lanes without a block in
// this pass load the last block and do not use it. At most 32 registers hold preloaded blocks; more would
// reduce the number of threads per core.
template <typename FORMAT, ushort N, uint COLS, uint LANES, uint MATRICES>
struct preload {
  typedef typename lane_layout<FORMAT, COLS / FORMAT::COLUMNS, LANES>::format T;
  typedef preloaded<T, N, COLS> block;
  enum : bool { PRELOADS = block::PRELOADS && MATRICES * sizeof(block) <= 128u };
  block h;

  static inline uint blocks() { return COLS / T::COLUMNS; }
  static inline uint pass() { return LANES / T::share(COLS); }
  static inline uint end() { return min(pass(), blocks()) * T::COLUMNS; } // the end of the pass, in columns

  static inline void fetch(device const uchar * w, uint lane, thread preload & p) {
    const uint b = lane / T::share(COLS);
    if (PRELOADS) block::load(w, pass() <= blocks() ? b : min(b, blocks() - 1u), lane % T::share(COLS), p.h);
  }

  template <typename X>
  static inline void add(thread const preload & p, X x, uint lane, thread float * sum) {
    const uint b = lane / T::share(COLS);
    if (pass() <= blocks() || b < blocks()) take_preloaded<block, N>(p.h, x, b, lane % T::share(COLS), sum);
  }
};

// dot_one over whole rows, with the first pass in p.
template <typename FORMAT, ushort N, uint COLS, uint LANES, uint FLIGHT, typename X>
static inline void dot_preload(thread const preload<FORMAT, N, COLS, LANES, 1> & p, device const uchar * w, X x, uint lane, thread float * sum) {
  typedef preload<FORMAT, N, COLS, LANES, 1> P;
  const uint begin = P::PRELOADS ? P::end() : 0u;
  if (P::PRELOADS) P::add(p, x, lane, sum);
  if (begin < COLS) dot_one<FORMAT, N, COLS, LANES, FLIGHT>(w, x, begin, COLS, lane, sum);
}

// The same for two matrices.
template <typename FORMAT, typename OTHER, ushort N, uint COLS, uint LANES, uint FLIGHT, typename X>
static inline void dot_both_preload(thread const preload<FORMAT, N, COLS, LANES, 2> & p, thread const preload<OTHER, N, COLS, LANES, 2> & q,
                                 device const uchar * w, device const uchar * u, X x, uint lane, thread float * sum_w, thread float * sum_u) {
  typedef preload<FORMAT, N, COLS, LANES, 2> P;
  typedef preload<OTHER, N, COLS, LANES, 2> Q;
  if (P::PRELOADS && Q::PRELOADS && P::end() == Q::end()) {
    P::add(p, x, lane, sum_w);
    Q::add(q, x, lane, sum_u);
    if (P::end() < COLS) dot_both<FORMAT, OTHER, N, COLS, LANES, FLIGHT>(w, u, x, P::end(), COLS, lane, sum_w, sum_u);
  } else {
    dot_both<FORMAT, OTHER, N, COLS, LANES, FLIGHT>(w, u, x, 0u, COLS, lane, sum_w, sum_u);
  }
}
