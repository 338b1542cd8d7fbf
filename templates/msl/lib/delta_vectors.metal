// What the delta rule takes of the rows of a prompt: convolutions with SiLU, norms, decay.
//
// A thread has a channel of queries, keys, values or of what the state keeps, and up to ROWS rows of it in registers. All
// threads of a simdgroup have the same kind of vector.
template <uint DIM, uint TAPS, uint ROWS>
struct delta_vectors {
  enum : uint {
    PAST = TAPS - 1u,             // rows that a convolution looks back to
    EACH = DIM / 32u,             // simdgroups that share a vector
    FLOATS = 4u * EACH * ROWS     // of threadgroup memory: a sum of each simdgroup and row
  };

  // The rows in front of a run: the session's window.
  static inline void load_window(thread float * past, device const float * window, bool begins) {
    UNROLL for (uint i = 0; i < PAST; ++i) past[i] = begins ? 0.0f : window[i];
  }

  // The window after a run of rows [from, end): its last rows, and of a short one what it leaves of the window before.
  static inline void store_window(thread const float * past, row_floats in, uint from, uint end, uint c, device float * window) {
    UNROLL for (uint i = 0; i < PAST; ++i) {
      const uint ahead = PAST - i; // rows before the end
      float v = row_floats::at(in, max(end, from + ahead) - ahead, c);
      UNROLL for (uint j = i + 1u; j < PAST; ++j) v = j == i + end - from ? past[j] : v;
      window[i] = v;
    }
  }

  // Rows in front of a piece that does not begin a run.
  static inline void load_past(thread float * past, row_floats in, uint at, uint c) {
    UNROLL for (uint i = 0; i < PAST; ++i) past[i] = row_floats::at(in, at - PAST + i, c);
  }

  // All rows of the piece are in flight at once; rows after its end are the last one once more.
  static inline void load_rows(thread float * x, row_floats in, uint at, uint n, uint c) {
    UNROLL for (uint r = 0; r < ROWS; ++r) x[r] = row_floats::at(in, at + min(r, n - 1u), c);
  }

  // The convolution with SiLU, in the place of the rows.
  static inline void convolve(thread float * x, thread const float * past, thread const float * taps) {
    UNROLL for (uint i = ROWS; i > 0u; --i) {
      const uint r = i - 1u;
      float y = 0.0f;
      UNROLL for (uint t = 0; t < PAST; ++t) y = fma(taps[t], r + t < PAST ? past[(r + t) % PAST] : x[(r + t + ROWS - PAST) % ROWS], y);
      x[r] = silu(fma(taps[PAST], x[r], y));
    }
  }

  // What a lane's own row has of the sums of squares. Simdgroup sg of 4 EACH has the sums of its channels.
  static inline void sum_squares(thread const float * x, threadgroup float * sums, ushort sg, ushort lane) {
    float squares[ROWS];
    UNROLL for (uint r = 0; r < ROWS; ++r) squares[r] = x[r] * x[r];
    lane_sums<32, ROWS>::add(squares, lane);
    if (lane % lane_sums<32, ROWS>::EACH == 0u) sums[sg * ROWS + lane_sums<32, ROWS>::which(lane)] = squares[0];
  }

  // Divides the rows of queries or keys by their lengths.
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
