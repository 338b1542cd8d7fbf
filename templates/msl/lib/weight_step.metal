// The weights of a simdgroup where copies pass through registers: a lane has one step of its rows, and
// fetches the next one when it has decoded the last eight of that, into the same registers.
template <typename X> struct operand; // see operands.metal

template <typename T, uint COLS, uint R>
struct weight_step {
  typedef T format;
  // A step of large weights would take too many registers: of these an eight is fetched when it is decoded.
  enum : bool { LATE = sizeof(typename T::run) * R > 144u };
  enum : uint { ROW_BLOCKS = R };
  device const uchar * matrix;
  uint at[R]; // where in it the rows begin: all lanes share one pointer
  typename T::run now[LATE ? 1 : R];

  // Rows from first on; after the last row come copies of it, whose results go nowhere.
  static inline void begin(thread weight_step & w, device const uchar * matrix, uint first, uint last, threadgroup uchar *, ushort lane) {
    w.matrix = matrix;
    UNROLL for (uint r = 0; r < R; ++r) w.at[r] = min(first + lane / 4u + 8u * r, last) * uint(T::row_bytes(COLS));
  }
  static inline void send_first(thread weight_step & w, uint first, uint, ushort lane) { fetch_step(w, first, lane); }
  // Columns after the last one may be any weights: their inputs are 0.
  static inline void fetch_step(thread weight_step & w, uint step, ushort lane) {
    UNROLL for (uint r = 0; !LATE && r < R; ++r) T::template fetch_run<COLS>(w.matrix + w.at[r], min(step, (COLS - 1u) / STEP), lane % 4u, w.now[LATE ? 0u : r]);
  }

  // The eight j of one of the lane's rows in a step, as the piece that X multiplies.
  template <typename X, uint PIECE>
  static inline void decode(thread const weight_step & w, uint step, uint j, uint r, thread typename operand<X>::four * v, ushort lane) {
    typename T::run late;
    if (LATE) T::template fetch_run<COLS>(w.matrix + w.at[r], step, lane % 4u, late);
    UNROLL for (uint u = 0; u < 2u; ++u) v[u] = LATE ? operand<X>::template of<T, PIECE>(late, j, u) : operand<X>::template of<T, PIECE>(w.now[LATE ? 0u : r], j, u);
  }
};

// In the place of a second matrix where there is none.
struct no_step {
  enum : uint { ROW_BLOCKS = 0 };
  static inline void begin(thread no_step &, device const uchar *, uint, uint, threadgroup uchar *, ushort) {}
  static inline void fetch_step(thread no_step &, uint, ushort) {}
  template <typename X, uint PIECE>
  static inline void decode(thread const no_step &, uint, uint, uint, thread typename operand<X>::four *, ushort) {}
};

// Whether simdgroups multiply by both at once: they are of one format, whose lanes have the same columns, or one is none.
template <typename W, typename U> struct steps_alike { enum : bool { VALUE = false }; };
template <typename W> struct steps_alike<W, W> { enum : bool { VALUE = true }; };
template <typename W> struct steps_alike<W, no_step> { enum : bool { VALUE = true }; };
