// The weights of a simdgroup on devices whose copies pass through registers. A lane holds one step of its
// rows. When it has decoded the last eight of the step, it loads the next step into the same registers.
template <typename X> struct operand; // see operands.metal

template <typename T, uint COLS, uint R>
struct weight_step {
  typedef T format;
  // A step of large weights would take too many registers: they are loaded when an eight is decoded.
  enum : bool { LATE = sizeof(typename T::run) * R > 144u };
  enum : uint { ROW_BLOCKS = R };
  device const uchar * matrix;
  uint at[R]; // byte offsets of the rows: all lanes share one pointer
  typename T::run now[LATE ? 1 : R];

  // Begins with rows from first on. Rows beyond the last repeat it; their results are not stored.
  static inline void begin(thread weight_step & w, device const uchar * matrix, uint first, uint last, threadgroup uchar *, ushort lane) {
    w.matrix = matrix;
    UNROLL for (uint r = 0; r < R; ++r) w.at[r] = min(first + lane / 4u + 8u * r, last) * uint(T::row_bytes(COLS));
  }
  static inline void send_first(thread weight_step & w, uint first, uint, ushort lane) { fetch_step(w, first, lane); }
  // Columns beyond the last one may get any weights: their inputs are 0.
  static inline void fetch_step(thread weight_step & w, uint step, ushort lane) {
    UNROLL for (uint r = 0; !LATE && r < R; ++r) T::template fetch_run<COLS>(w.matrix + w.at[r], min(step, (COLS - 1u) / STEP), lane % 4u, w.now[LATE ? 0u : r]);
  }

  // Decodes eight j of one of the lane's rows in a step, as operands for inputs of type X.
  template <typename X, uint PIECE>
  static inline void decode(thread const weight_step & w, uint step, uint j, uint r, thread typename operand<X>::four * v, ushort lane) {
    typename T::run late;
    if (LATE) T::template fetch_run<COLS>(w.matrix + w.at[r], step, lane % 4u, late);
    UNROLL for (uint u = 0; u < 2u; ++u) v[u] = LATE ? operand<X>::template of<T, PIECE>(late, j, u) : operand<X>::template of<T, PIECE>(w.now[LATE ? 0u : r], j, u);
  }
};

// Stands for a second matrix if there is none.
struct no_step {
  enum : uint { ROW_BLOCKS = 0 };
  static inline void begin(thread no_step &, device const uchar *, uint, uint, threadgroup uchar *, ushort) {}
  static inline void fetch_step(thread no_step &, uint, ushort) {}
  template <typename X, uint PIECE>
  static inline void decode(thread const no_step &, uint, uint, uint, thread typename operand<X>::four *, ushort) {}
};

// Whether both matrices are multiplied at once: they have one format, so that lanes have the same columns, or
// the second is none.
template <typename W, typename U> struct steps_alike { enum : bool { VALUE = false }; };
template <typename W> struct steps_alike<W, W> { enum : bool { VALUE = true }; };
template <typename W> struct steps_alike<W, no_step> { enum : bool { VALUE = true }; };
