// The delta rule of some columns of a head, for the rows of one session in their order.
//
// As in delta_head.metal, eight lanes share a column, and each has 4 neighbouring keys out of 32. The vectors
// of up to ROWS rows are copied to threadgroup memory. While the state is updated by them, the next vectors
// are loaded into registers. The next row has to wait for the last step of a row, sums over lanes. So its key
// and decay are loaded during these sums.
template <uint DIM, uint COLUMNS, uint ROWS, uint SIMDGROUPS>
struct delta_columns {
  enum : uint {
    THREADS = 32u * SIMDGROUPS,
    KEYS = DIM / 8u,                                        // of a lane
    FOURS = KEYS / 4u,                                      // fours of keys of a lane
    SPAN = THREADS / 8u,                                    // columns of all lanes at a time
    OWN = COLUMNS / SPAN,                                   // of a lane
    STATE = OWN * KEYS,                                     // numbers of a lane
    ALL = ROWS * DIM / 4u,                                  // fours of a vector of all rows
    LOADS = (ALL + THREADS - 1u) / THREADS,                 // of a thread
    VALUES = (ROWS * COLUMNS + THREADS - 1u) / THREADS,     // numbers of a thread
    // The layout of threadgroup memory.
    QUERIES_AT = 0u, KEYS_AT = ROWS * DIM, KEPT_AT = 2u * ROWS * DIM, VALUES_AT = 3u * ROWS * DIM, BETAS_AT = VALUES_AT + ROWS * COLUMNS, FLOATS = BETAS_AT + ROWS
  };

  // The place of a lane's m-th four numbers of a column in the head's state, from the threadgroup's first column on.
  static inline uint place(uint column, uint m, uint tid) { return (tid / 8u + column * SPAN) * DIM + tid % 8u * 4u + m * 32u; }

  static inline void load_state(thread float4 * s, device const float * state, bool begins, uint tid) {
    UNROLL for (uint i = 0; i < STATE / 4u; ++i) {
      s[i] = float4(0.0f);
      if (!begins) s[i] = *(device const float4 *)(state + place(i / FOURS, i % FOURS, tid));
    }
  }

  static inline void store_state(thread const float4 * s, device float * state, uint tid) {
    UNROLL for (uint i = 0; i < STATE / 4u; ++i) *(device float4 *)(state + place(i / FOURS, i % FOURS, tid)) = s[i];
  }

  // A thread's share of the vectors of up to ROWS rows, in registers.
  struct piece {
    float4 q[LOADS], k[LOADS], kept[LOADS];
    float v[VALUES], beta;
  };

  static inline float4 four(row_floats in, uint at, uint last, uint i) {
    return *(device const float4 *)(in.first + ulong(at + min(i / (DIM / 4u), last)) * in.stride + i % (DIM / 4u) * 4u);
  }

  // Rows beyond the end repeat the last row.
  static inline void load(thread piece & p, row_floats q, row_floats k, row_floats kept, row_floats v, row_floats beta, uint at, uint n, uint tid) {
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      const uint of = min(i * THREADS + tid, ALL - 1u);
      p.q[i] = four(q, at, n - 1u, of);
      p.k[i] = four(k, at, n - 1u, of);
      p.kept[i] = four(kept, at, n - 1u, of);
    }
    UNROLL for (uint i = 0; i < VALUES; ++i) {
      const uint of = min(i * THREADS + tid, ROWS * COLUMNS - 1u);
      p.v[i] = row_floats::at(v, at + min(of / COLUMNS, n - 1u), of % COLUMNS);
    }
    p.beta = row_floats::at(beta, at + min(tid, n - 1u), 0u);
  }

  static inline void put(thread const piece & p, threadgroup float * m, uint tid) {
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      const uint of = i * THREADS + tid;
      if (of < ALL) {
        *(threadgroup float4 *)(m + QUERIES_AT + of * 4u) = p.q[i];
        *(threadgroup float4 *)(m + KEYS_AT + of * 4u) = p.k[i];
        *(threadgroup float4 *)(m + KEPT_AT + of * 4u) = p.kept[i];
      }
    }
    UNROLL for (uint i = 0; i < VALUES; ++i) {
      if (i * THREADS + tid < ROWS * COLUMNS) m[VALUES_AT + i * THREADS + tid] = p.v[i];
    }
    if (tid < ROWS) m[BETAS_AT + tid] = p.beta;
  }

  // The operands that a row needs first: key and decay.
  struct ahead { float4 k[FOURS], kept[FOURS]; };

  static inline void load_ahead(thread ahead & a, threadgroup const float * m, uint r, uint tid) {
    UNROLL for (uint i = 0; i < FOURS; ++i) {
      a.k[i] = *(threadgroup const float4 *)(m + KEYS_AT + r * DIM + tid % 8u * 4u + 32u * i);
      a.kept[i] = *(threadgroup const float4 *)(m + KEPT_AT + r * DIM + tid % 8u * 4u + 32u * i);
    }
  }

  static inline float4 fma_four(float4 a, float4 b, float4 c) {
    float4 v;
    v.x = fma(a.x, b.x, c.x);
    v.y = fma(a.y, b.y, c.y);
    v.z = fma(a.z, b.z, c.z);
    v.w = fma(a.w, b.w, c.w);
    return v;
  }

  static inline float sum_four(float4 v) { return sum_group<8>((v.x + v.y) + (v.z + v.w)); }

  // Updates the lane's columns by row r: S' = diag(kept) S, u = β (v - S'ᵀ k), S = S' + k uᵀ, out = Sᵀ q.
  static inline void step(thread float4 * s, thread const ahead & a, thread ahead & next, uint r, uint after, float scale, device float * out, threadgroup const float * m, uint tid) {
    float known[OWN];
    UNROLL for (uint c = 0; c < OWN; ++c) {
      float4 sum = float4(0.0f);
      UNROLL for (uint i = 0; i < FOURS; ++i) {
        s[c * FOURS + i] *= a.kept[i];
        sum = fma_four(s[c * FOURS + i], a.k[i], sum);
      }
      known[c] = sum_four(sum);
    }
    load_ahead(next, m, after, tid);
    float4 seen[OWN];
    float u[OWN];
    UNROLL for (uint c = 0; c < OWN; ++c) {
      u[c] = m[BETAS_AT + r] * (m[VALUES_AT + r * COLUMNS + tid / 8u + c * SPAN] - known[c]);
      seen[c] = float4(0.0f);
    }
    UNROLL for (uint i = 0; i < FOURS; ++i) {
      const float4 q = *(threadgroup const float4 *)(m + QUERIES_AT + r * DIM + tid % 8u * 4u + 32u * i);
      UNROLL for (uint c = 0; c < OWN; ++c) {
        s[c * FOURS + i] = fma_four(a.k[i], float4(u[c]), s[c * FOURS + i]);
        seen[c] = fma_four(s[c * FOURS + i], q, seen[c]);
      }
    }
    UNROLL for (uint c = 0; c < OWN; ++c) {
      const float o = sum_four(seen[c]);
      if (tid % 8u == 0u) out[tid / 8u + c * SPAN] = o * scale;
    }
  }

  // Updates the lane's columns by n rows. out points to the results of the first row.
  static inline void move(thread float4 * s, uint n, float scale, device float * out, uint stride, threadgroup const float * m, uint tid) {
    ahead even, odd;
    load_ahead(even, m, 0u, tid);
    for (uint r = 0; r < n; r += 2u) {
      step(s, even, odd, r, min(r + 1u, n - 1u), scale, out + ulong(r) * stride, m, tid);
      if (r + 1u < n) step(s, odd, even, r + 1u, min(r + 2u, n - 1u), scale, out + ulong(r + 1u) * stride, m, tid);
    }
  }
};
