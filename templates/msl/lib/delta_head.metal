// Linear attention of one head (Kimi Delta Attention) for the rows of one session, in their order.
//
// The state is a matrix with a column for each element of a value, and a row for each element of a key.
// Columns do not depend on each other. So a lane keeps its share of some columns in registers for all rows of
// the session: the state is read before the first row, and written after the last one. Eight lanes share a
// column. Each has 4 neighbouring keys out of 32, so that the eight lanes load 128 consecutive bytes. In
// memory the keys of a column are consecutive.
//
// Rows are taken in pieces. First all threads compute what does not depend on the state, in threadgroup
// memory: convolutions, norms, gates. Then each simdgroup updates its columns by all rows of the piece,
// without a barrier. The state has only floats, because its rounding errors accumulate.

// Used like row_floats, for the only row, whose vector the threadgroup has computed itself.
struct shared_floats {
  threadgroup const float * first;
  static inline float at(shared_floats v, uint, uint c) { return v.first[c]; }
};

// A head of DIM channels, convolutions over TAPS rows, pieces of up to ROWS rows.
template <uint DIM, uint TAPS, uint ROWS, uint SIMDGROUPS>
struct delta_head {
  enum : uint {
    THREADS = 32u * SIMDGROUPS,
    TASKS = (4u * DIM + THREADS - 1u) / THREADS, // of a thread: a channel of queries, keys, values or decays
    KEYS = DIM / 8u,             // of a lane
    SPAN = THREADS / 8u,         // columns of all lanes at a time
    COLUMNS = DIM / SPAN,        // of a lane
    STATE = COLUMNS * KEYS,      // numbers of a lane
    PAST = TAPS - 1u,            // rows before the current one in a convolution
    WINDOW = TASKS * PAST,       // numbers of a thread
    SUMS = COLUMNS < 4u ? 4u : 2u, // partial sums of a lane for a column; with several columns, more would take too many registers
    OWN = DIM / 32u,             // channels of a lane when a simdgroup has a row
    // The layout of threadgroup memory for a piece: vectors for each row, then two numbers for each row.
    QUERIES_AT = 0u, KEYS_AT = ROWS * DIM, VALUES_AT = 2u * ROWS * DIM, KEPT_AT = 3u * ROWS * DIM, RESULTS_AT = 4u * ROWS * DIM,
    BETAS_AT = 5u * ROWS * DIM, PRODUCTS_AT = 5u * ROWS * DIM + ROWS, FLOATS = 5u * ROWS * DIM + 2u * ROWS
  };

  // What a thread's task is about: 0 queries, 1 keys, 2 values, 3 what the state keeps, more: nothing.
  static inline uint kind(uint task, uint tid) { return (task * THREADS + tid) / DIM; }
  static inline uint channel(uint task, uint tid) { return (task * THREADS + tid) % DIM; }

  // The place of a lane's m-th four numbers of a column in the head's state.
  static inline uint place(uint column, uint m, uint tid) { return (tid / 8u + column * SPAN) * DIM + tid % 8u * 4u + m * 32u; }

  static inline void load_state(thread float * s, device const float * state, bool begins, uint tid) {
    UNROLL for (uint i = 0; i < STATE / 4u; ++i) {
      float4 v = float4(0.0f);
      if (!begins) v = *(device const float4 *)(state + place(i / (KEYS / 4u), i % (KEYS / 4u), tid));
      s[4u * i] = v.x;
      s[4u * i + 1u] = v.y;
      s[4u * i + 2u] = v.z;
      s[4u * i + 3u] = v.w;
    }
  }

  static inline void store_state(thread const float * s, device float * state, uint tid) {
    UNROLL for (uint i = 0; i < STATE / 4u; ++i) {
      float4 v;
      v.x = s[4u * i];
      v.y = s[4u * i + 1u];
      v.z = s[4u * i + 2u];
      v.w = s[4u * i + 3u];
      *(device float4 *)(state + place(i / (KEYS / 4u), i % (KEYS / 4u), tid)) = v;
    }
  }

  // Loads the window: the last projections of each channel, which the session keeps, the oldest first.
  static inline void load_window(thread float * past, device const float * q, device const float * k, device const float * v, bool begins, uint tid) {
    UNROLL for (uint t = 0; t < TASKS; ++t) {
      const uint of = kind(t, tid);
      device const float * window = (of == 0u ? q : of == 1u ? k : v) + channel(t, tid) * PAST;
      UNROLL for (uint i = 0; i < PAST; ++i) past[t * PAST + i] = begins || of > 2u ? 0.0f : window[i];
    }
  }

  static inline void store_window(thread const float * past, device float * q, device float * k, device float * v, uint tid) {
    UNROLL for (uint t = 0; t < TASKS; ++t) {
      const uint of = kind(t, tid);
      device float * window = (of == 0u ? q : of == 1u ? k : v) + channel(t, tid) * PAST;
      UNROLL for (uint i = 0; i < PAST; ++i) {
        if (of < 3u) window[i] = past[t * PAST + i];
      }
    }
  }

  // Loads the taps of a thread's channels; for decays the bias.
  static inline void load_taps(thread float * taps, device const float * q, device const float * k, device const float * v, device const float * offsets, uint tid) {
    UNROLL for (uint t = 0; t < TASKS; ++t) {
      const uint of = kind(t, tid), c = channel(t, tid);
      device const float * w = of == 0u ? q : of == 1u ? k : of == 2u ? v : offsets;
      UNROLL for (uint i = 0; i < TAPS; ++i) taps[t * TAPS + i] = w[of < 3u ? c * TAPS + i : c]; // threads without a task load a bias, too
    }
  }

  // What a thread's tasks take of rows [at, at + n). The loads of all rows are under way together.
  template <typename F>
  static inline void load_rows(thread float * x, row_floats q, row_floats k, row_floats v, F f, uint at, uint n, uint tid) {
    UNROLL for (uint t = 0; t < TASKS; ++t) {
      const uint of = kind(t, tid), c = channel(t, tid);
      row_floats in = v;
      if (of == 0u) in = q;
      if (of == 1u) in = k;
      UNROLL for (uint r = 0; r < ROWS; ++r) {
        const uint row = at + min(r, n - 1u);
        x[t * ROWS + r] = of == 3u ? F::at(f, row, c) : row_floats::at(in, row, c);
      }
    }
  }

  // Computes convolutions with SiLU, and decays.
  template <typename LAW>
  static inline void make_vectors(thread float * past, thread const float * taps, thread const float * x, float a, float bound, uint n, threadgroup float * m, uint tid) {
    UNROLL for (uint t = 0; t < TASKS; ++t) {
      const uint of = kind(t, tid), c = channel(t, tid);
      threadgroup float * to = m + (of == 0u ? uint(QUERIES_AT) : of == 1u ? uint(KEYS_AT) : of == 2u ? uint(VALUES_AT) : uint(KEPT_AT)) + c;
      UNROLL for (uint r = 0; r < ROWS; ++r) {
        if (r >= n || of > 3u) continue;
        if (of == 3u) {
          to[r * DIM] = LAW::of(a, x[t * ROWS + r] + taps[t * TAPS], bound);
        } else {
          float y = 0.0f;
          UNROLL for (uint i = 0; i < PAST; ++i) y = fma(taps[t * TAPS + i], past[t * PAST + i], y);
          to[r * DIM] = silu(fma(taps[t * TAPS + PAST], x[t * ROWS + r], y));
          UNROLL for (uint i = 1; i < PAST; ++i) past[t * PAST + i - 1u] = past[t * PAST + i];
          past[t * PAST + PAST - 1u] = x[t * ROWS + r];
        }
      }
    }
  }

  // Normalises queries, with the scale of results, and keys, and computes their products and β. A simdgroup has
  // a row.
  static inline void make_norms(row_floats beta, float eps, float scale, uint at, uint n, threadgroup float * m, ushort sg, ushort lane) {
    for (uint r = sg; r < n; r += SIMDGROUPS) {
      threadgroup float * q = m + QUERIES_AT + r * DIM + lane;
      threadgroup float * k = m + KEYS_AT + r * DIM + lane;
      float sums[3] = {};
      UNROLL for (uint i = 0; i < OWN; ++i) {
        sums[0] = fma(q[32u * i], q[32u * i], sums[0]);
        sums[1] = fma(k[32u * i], k[32u * i], sums[1]);
        sums[2] = fma(q[32u * i], k[32u * i], sums[2]);
      }
      sum_lanes<3>(sums);
      const float of_q = scale / sqrt(sums[0] + eps), of_k = 1.0f / sqrt(sums[1] + eps);
      UNROLL for (uint i = 0; i < OWN; ++i) {
        q[32u * i] *= of_q;
        k[32u * i] *= of_k;
      }
      if (lane == 0) {
        m[BETAS_AT + r] = sigmoid(row_floats::at(beta, at + r, 0u));
        m[PRODUCTS_AT + r] = sums[2] * of_q * of_k;
      }
    }
  }

  // Updates the lane's columns by n rows. With S' = diag(kept) S and u = β (v - S'ᵀ k) the new state is S = S'
  // + k uᵀ, so Sᵀ q = S'ᵀ q + (k · q) u. Both sums over keys are of S', and are computed in one loop.
  static inline void move(thread float * s, uint n, threadgroup float * m, uint tid) {
    const uint part = tid % 8u * 4u, column = tid / 8u;
    for (uint r = 0; r < n; ++r) {
      threadgroup const float * q = m + QUERIES_AT + r * DIM + part;
      threadgroup const float * k = m + KEYS_AT + r * DIM + part;
      threadgroup const float * kept = m + KEPT_AT + r * DIM + part;
      const float beta = m[BETAS_AT + r], product = m[PRODUCTS_AT + r];
      float known[SUMS * COLUMNS] = {}, seen[SUMS * COLUMNS] = {};
      UNROLL for (uint i = 0; i < KEYS / 4u; ++i) {
        const float4 k4 = *(threadgroup const float4 *)(k + 32u * i), q4 = *(threadgroup const float4 *)(q + 32u * i), kept4 = *(threadgroup const float4 *)(kept + 32u * i);
        UNROLL for (uint c = 0; c < COLUMNS; ++c) {
          UNROLL for (uint e = 0; e < 4u; ++e) {
            const uint j = c * KEYS + 4u * i + e, of = SUMS * c + e % SUMS;
            s[j] *= kept4[e];
            known[of] = fma(s[j], k4[e], known[of]);
            seen[of] = fma(s[j], q4[e], seen[of]);
          }
        }
      }
      float u[COLUMNS];
      UNROLL for (uint c = 0; c < COLUMNS; ++c) {
        const float of_k = sum_group<8>(sum_of<SUMS>(known + SUMS * c)), of_q = sum_group<8>(sum_of<SUMS>(seen + SUMS * c));
        u[c] = beta * (m[VALUES_AT + r * DIM + column + c * SPAN] - of_k);
        if (part == 0u) m[RESULTS_AT + r * DIM + column + c * SPAN] = fma(product, u[c], of_q);
      }
      UNROLL for (uint i = 0; i < KEYS / 4u; ++i) {
        const float4 k4 = *(threadgroup const float4 *)(k + 32u * i);
        UNROLL for (uint c = 0; c < COLUMNS; ++c) {
          UNROLL for (uint e = 0; e < 4u; ++e) s[c * KEYS + 4u * i + e] = fma(k4[e], u[c], s[c * KEYS + 4u * i + e]);
        }
      }
    }
  }

  // Stores the results of rows [at, at + n), with norm, its weight and output gate. A simdgroup has a row.
  template <typename Z, typename A>
  static inline void store_results(Z z, device const float * weight, float eps, device A * out, uint out_stride, uint at, uint n, threadgroup const float * m, ushort sg, ushort lane) {
    for (uint r = sg; r < n; r += SIMDGROUPS) {
      float o[OWN], gate[OWN], squares = 0.0f;
      UNROLL for (uint i = 0; i < OWN; ++i) gate[i] = Z::at(z, at + r, 32u * i + lane);
      UNROLL for (uint i = 0; i < OWN; ++i) {
        o[i] = m[RESULTS_AT + r * DIM + 32u * i + lane];
        squares = fma(o[i], o[i], squares);
      }
      const float factor = norm_factor(simd_sum(squares), float(DIM), eps);
      UNROLL for (uint i = 0; i < OWN; ++i) out[ulong(at + r) * out_stride + 32u * i + lane] = A(o[i] * factor * weight[32u * i + lane] * sigmoid(gate[i]));
    }
  }
};
