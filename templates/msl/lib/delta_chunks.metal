// The part of the delta rule in chunks that does not depend on the state. The names are those of
// plan.DeltaChunks, which has the formulas.
//
// First each simdgroup has some rows r, and computes the products of r with all rows t from r on. Lanes have
// channels, and the decay between two rows is computed as a product of numbers that are at most 1. Then each
// thread has a channel, and solves for all rows, one after the other.
template <uint DIM, uint ROWS>
struct delta_chunk {
  enum : uint {
    SIMDGROUPS = DIM / 8u,   // four threads for each channel
    OWN = DIM / 32u,         // channels of a lane
    // The layout of threadgroup memory: vectors of all rows, A, M, and β.
    QUERIES_AT = 0u, KEYS_AT = ROWS * DIM, KEPT_AT = 2u * ROWS * DIM, PAIRS_AT = 3u * ROWS * DIM, SEEN_AT = PAIRS_AT + ROWS * ROWS,
    BETAS_AT = SEEN_AT + ROWS * ROWS, FLOATS = BETAS_AT + ROWS
  };

  // Stores a channel of queries, keys or decays. Rows beyond the end get values that change nothing.
  static inline void put(thread float * x, uint of, uint n, uint c, threadgroup float * m) {
    UNROLL for (uint r = 0; r < ROWS; ++r) x[r] = r < n ? x[r] : of == 3u ? 1.0f : 0.0f;
    if (of == 2u) return;
    threadgroup float * to = m + (of == 0u ? uint(QUERIES_AT) : of == 1u ? uint(KEYS_AT) : uint(KEPT_AT)) + c;
    UNROLL for (uint r = 0; r < ROWS; ++r) to[r * DIM] = x[r];
  }

  // Computes A and M for all pairs of rows t >= r.
  static inline void make_pairs(float scale, threadgroup float * m, ushort sg, ushort lane) {
    UNROLL for (uint first = 0; first < ROWS; first += SIMDGROUPS) {
      const uint r = first + sg;
      if (r >= ROWS) continue;
      float sums[2u * ROWS] = {}, key[OWN];
      UNROLL for (uint i = 0; i < OWN; ++i) key[i] = m[KEYS_AT + r * DIM + 32u * i + lane];
      UNROLL for (uint t = 0; t < ROWS; ++t) {
        if (t < r) continue;
        threadgroup const float * row = m + t * DIM + lane;
        UNROLL for (uint i = 0; i < OWN; ++i) {
          key[i] *= t == r ? 1.0f : row[KEPT_AT + 32u * i];
          sums[t] = fma(row[KEYS_AT + 32u * i], key[i], sums[t]);
          sums[ROWS + t] = fma(row[QUERIES_AT + 32u * i], key[i], sums[ROWS + t]);
        }
      }
      lane_sums<32, 2u * ROWS>::add(sums, lane);
      const uint t = lane % ROWS;
      m[(lane < ROWS ? uint(PAIRS_AT) : uint(SEEN_AT)) + t * ROWS + r] = sums[0] * (lane < ROWS ? m[BETAS_AT + t] : scale);
    }
  }

  // One channel of two vectors of a row: Known and Seen for a thread with keys, Value and Own for one with values.
  struct both { float known, seen; };

  // Solves for row t. x has Known or Value of the rows before, and the key or value of row t. decay is Kept of
  // the row.
  static inline both solve(thread float * x, uint t, bool keys, float decay, float scale, uint c, threadgroup const float * m) {
    threadgroup const float * a = m + PAIRS_AT + t * ROWS;
    threadgroup const float * b = m + SEEN_AT + t * ROWS;
    float known = m[BETAS_AT + t] * x[t], own = 0.0f;
    if (keys) known *= decay;
    UNROLL for (uint r = 0; r < ROWS; ++r) {
      if (r >= t) continue;
      known = fma(-a[r], x[r], known);
      own = fma(b[r], x[r], own);
    }
    x[t] = known;
    own = fma(b[t], known, own);
    return both{known, keys ? fma(scale * m[QUERIES_AT + t * DIM + c], decay, -own) : own};
  }

  // Solves and stores a thread's channel for the chunk's n rows: two vectors for keys and for values, one for
  // queries and decays.
  static inline void store(thread float * x, row_stores known, row_stores other, uint of, uint at, uint n, float scale, uint c, threadgroup const float * m) {
    float decay = 1.0f;
    if (of == 0u) { // Key, from the last row to the first
      UNROLL for (uint i = ROWS; i > 0u; --i) {
        const uint t = i - 1u;
        if (t < n) row_stores::put(other, at + t, c, m[KEYS_AT + t * DIM + c] * decay);
        decay *= m[KEPT_AT + t * DIM + c];
      }
      return;
    }
    UNROLL for (uint t = 0; t < ROWS; ++t) {
      decay *= m[KEPT_AT + t * DIM + c];
      if (of == 3u) { // Kept
        if (t < n) row_stores::put(other, at + t, c, decay);
        continue;
      }
      const both y = solve(x, t, of == 1u, decay, scale, c, m);
      if (t >= n) continue;
      row_stores::put(known, at + t, c, y.known);
      row_stores::put(other, at + t, c, y.seen);
    }
  }
};
