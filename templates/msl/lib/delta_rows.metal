// Declarations for all kernels of linear attention (Kimi Delta Attention): gates, vectors of rows, runs of rows.

// ln(1 + e^x). For small e^x the sum 1 + e^x loses digits; the factor e / (sum - 1) restores them.
static inline float softplus(float x) {
  const float e = exp(min(x, 20.0f)), sum = 1.0f + e;
  return x > 20.0f ? x : sum == 1.0f ? e : log(sum) * (e / (sum - 1.0f));
}

// The decay, which is the factor on a key's row of the state: the unbounded and the bounded formula.
struct softplus_decay {
  static inline float of(float a, float x, float) { return exp(a * softplus(x)); }
};
struct bounded_decay {
  static inline float of(float a, float x, float bound) { return exp(bound * sigmoid(a * x)); }
};

// Reads a vector of every row: `first` is the first channel of row 0, and rows are `stride` floats apart.
struct row_floats {
  device const float * first;
  uint stride;
  static inline float at(row_floats v, uint row, uint c) { return v.first[ulong(row) * v.stride + c]; }
};

// The same for writing.
struct row_stores {
  device float * first;
  uint stride;
  static inline void put(row_stores v, uint row, uint c, float x) { v.first[ulong(row) * v.stride + c] = x; }
};

// The end of a run of rows of one session: the next row that is unused, or belongs to another session. A lane
// looks at EACH rows at a time.
template <uint EACH>
static inline uint run_end(constant Row * rows, uint from, uint limit, ushort lane) {
  const uint table = rows[from].table;
  for (uint at = from + 1u; at < limit; at += 32u * EACH) {
    uint first = limit;
    UNROLL for (uint i = 0; i < EACH; ++i) {
      const uint row = min(at + 32u * i + lane, limit - 1u);
      const bool other = rows[row].nkv == 0u || rows[row].table != table;
      first = other ? min(first, row) : first;
    }
    first = simd_min(first);
    if (first < limit) return first;
  }
  return limit;
}
