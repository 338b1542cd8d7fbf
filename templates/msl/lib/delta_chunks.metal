// What the delta rule takes of a chunk of rows of a head, all but the state. The names are those of plan.DeltaChunks.
//
// Each simdgroup has some rows r, and makes what they are to all rows t from r on. Lanes have channels, so a decay
// between two rows is a product of numbers up to 1. Then a thread has a channel of all rows, one after the other.
template <uint DIM, uint ROWS>
struct delta_chunk {
  enum : uint {
    SIMDGROUPS = DIM / 8u,   // four threads for each channel
    OWN = DIM / 32u,         // channels of a lane
    // Where threadgroup memory has what: vectors of all rows, A, M, and β.
    QUERIES_AT = 0u, KEYS_AT = ROWS * DIM, KEPT_AT = 2u * ROWS * DIM, PAIRS_AT = 3u * ROWS * DIM, SEEN_AT = PAIRS_AT + ROWS * ROWS,
    BETAS_AT = SEEN_AT + ROWS * ROWS, FLOATS = BETAS_AT + ROWS
  };

  // Hands a channel of queries, keys or of what the state keeps over. Rows after the end change nothing.
  static inline void put(thread float * x, uint of, uint n, uint c, threadgroup float * m) {
    UNROLL for (uint r = 0; r < ROWS; ++r) x[r] = r < n ? x[r] : of == 3u ? 1.0f : 0.0f;
    if (of == 2u) return;
    threadgroup float * to = m + (of == 0u ? uint(QUERIES_AT) : of == 1u ? uint(KEYS_AT) : uint(KEPT_AT)) + c;
    UNROLL for (uint r = 0; r < ROWS; ++r) to[r * DIM] = x[r];
  }

  // A and M of all rows t from r on.
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

  // A number of two vectors of each row: Known and Seen of a thread with keys x, Value and Own of one with values.
  struct both { float known, seen; };

  // Row t of them. x has Known or Value of the rows before, and this one's key or value. decay is Kept of the row.
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

  // Stores a thread's channel of the chunk's n rows: of keys and values two vectors, of the others one.
  static inline void store(thread float * x, row_stores known, row_stores other, uint of, uint at, uint n, float scale, uint c, threadgroup const float * m) {
    float decay = 1.0f;
    if (of == 0u) { // Key, from the last row on
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
