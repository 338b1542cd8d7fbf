// The inputs of the delta rule for the rows of a prompt: convolutions with SiLU, norms, decay.
//
// A thread has a channel of queries, keys, values or decays, with up to ROWS rows of it in registers. All
// threads of a simdgroup have the same kind of vector.
template <uint DIM, uint TAPS, uint ROWS>
struct delta_vectors {
  enum : uint {
    PAST = TAPS - 1u,             // rows that a convolution looks back to
    EACH = DIM / 32u,             // simdgroups that share a vector
    FLOATS = 4u * EACH * ROWS     // of threadgroup memory: a sum for each simdgroup and row
  };

  // Loads the rows before a run from the session's window.
  static inline void load_window(thread float * past, device const float * window, bool begins) {
    UNROLL for (uint i = 0; i < PAST; ++i) past[i] = begins ? 0.0f : window[i];
  }

  // Stores the window after a run of rows [from, end): its last rows, preceded by rows of the old window if the
  // run is short.
  static inline void store_window(thread const float * past, row_floats in, uint from, uint end, uint c, device float * window) {
    UNROLL for (uint i = 0; i < PAST; ++i) {
      const uint ahead = PAST - i; // rows before the end
      float v = row_floats::at(in, max(end, from + ahead) - ahead, c);
      UNROLL for (uint j = i + 1u; j < PAST; ++j) v = j == i + end - from ? past[j] : v;
      window[i] = v;
    }
  }

  // Loads the rows before a piece that does not begin a run.
  static inline void load_past(thread float * past, row_floats in, uint at, uint c) {
    UNROLL for (uint i = 0; i < PAST; ++i) past[i] = row_floats::at(in, at - PAST + i, c);
  }

  // Loads all rows of the piece at once. Rows beyond its end repeat the last row.
  static inline void load_rows(thread float * x, row_floats in, uint at, uint n, uint c) {
    UNROLL for (uint r = 0; r < ROWS; ++r) x[r] = row_floats::at(in, at + min(r, n - 1u), c);
  }

  // Replaces the rows by their convolution with SiLU.
  static inline void convolve(thread float * x, thread const float * past, thread const float * taps) {
    UNROLL for (uint i = ROWS; i > 0u; --i) {
      const uint r = i - 1u;
      float y = 0.0f;
      UNROLL for (uint t = 0; t < PAST; ++t) y = fma(taps[t], r + t < PAST ? past[(r + t) % PAST] : x[(r + t + ROWS - PAST) % ROWS], y);
      x[r] = silu(fma(taps[PAST], x[r], y));
    }
  }

  // Stores the sums of squares of the rows, over the channels of simdgroup sg of 4 EACH.
  static inline void sum_squares(thread const float * x, threadgroup float * sums, ushort sg, ushort lane) {
    float squares[ROWS];
    UNROLL for (uint r = 0; r < ROWS; ++r) squares[r] = x[r] * x[r];
    lane_sums<32, ROWS>::add(squares, lane);
    if (lane % lane_sums<32, ROWS>::EACH == 0u) sums[sg * ROWS + lane_sums<32, ROWS>::which(lane)] = squares[0];
  }

  // Divides the rows of queries or keys by their lengths (L2 norm).
  static inline void divide(thread float * x, threadgroup const float * sums, float eps, ushort sg, ushort lane) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EACH; ++i) sum += sums[(sg / EACH * EACH + i) * ROWS + lane % ROWS];
    const float factor = 1.0f / sqrt(sum + eps);
    UNROLL for (uint r = 0; r < ROWS; ++r) x[r] *= simd_shuffle(factor, ushort(r));
  }

  static inline void store_rows(thread const float * x, row_stores out, uint at, uint n, uint c) {
    UNROLL for (uint r = 0; r < ROWS; ++r) {
      if (r < n) row_stores::put(out, at + r, c, x[r]);
    }
  }
};
