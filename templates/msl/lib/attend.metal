// Which rows of a tile a query attends to (the first rows_seen(s, …)), and the factor on its scores: for_all
// has the same for all queries.
struct for_all { uint n; float scale; };
static inline uint rows_seen(thread const for_all & s, uint) { return s.n; }
static inline float score_scale(thread const for_all & s, uint) { return s.scale; }
static inline void look(thread for_all & s, uint, uint n) { s.n = n; } // moves to a tile with n rows

// Split-KV latent attention in plain arithmetic. A threadgroup loops over the cache rows of one split in
// tiles. The rows of a tile are keys and values of all heads. For scores, a lane has some columns of the
// queries of some heads, in registers: lanes are HP heads (a power of two) × column groups. For values, a
// thread has latent columns, with one sum per head.

// Number i of queries.
template <typename A>
static inline float query_at(device const A * q, uint i) { return float(q[i]); }

// Loads the thread's NC columns of the queries of heads lane mod HP + k HP.
template <uint HEADS, uint HP, uint LAT, uint PE, uint NC, typename QA, typename QP>
static inline void load_query(QA q_abs, uint abs_stride, QP q_pe, uint pe_stride, thread float * q, ushort sg, ushort lane) {
  const uint c0 = (sg * (32u / HP) + lane / HP) * NC;
  UNROLL for (uint k = 0; k < (HEADS + HP - 1u) / HP; ++k) {
    const uint h = k * HP + lane % HP;
    UNROLL for (uint j = 0; j < NC; ++j) {
      const uint c = c0 + j;
      q[k * NC + j] = 0.0f;
      if (h < HEADS && c < LAT) q[k * NC + j] = query_at(q_abs, h * abs_stride + c);
      if (h < HEADS && c >= LAT && c < LAT + PE) q[k * NC + j] = query_at(q_pe, h * pe_stride + c - LAT);
    }
  }
}

// Computes shares[sg][h][t]: the part of the score of head h and row t that comes from the simdgroup's columns.
template <uint HEADS, uint HP, uint WIDTH, uint NC, uint TILE>
static inline void tile_scores(threadgroup const float * tile, uint n, thread const float * q, threadgroup float * shares,
                               ushort sg, ushort lane) {
  const uint c0 = (sg * (32u / HP) + lane / HP) * NC;
  UNROLL for (uint k = 0; k < (HEADS + HP - 1u) / HP; ++k) {
    const uint h = k * HP + lane;
    for (uint t = 0; t < n; ++t) {
      float s = 0.0f;
      UNROLL for (uint j = 0; j < NC; ++j) s = fma(q[k * NC + j], tile[t * WIDTH + min(c0 + j, WIDTH - 1u)], s);
      UNROLL for (ushort d = HP; d < 32; d *= 2) s += simd_shuffle_xor(s, d);
      if (lane < HP && h < HEADS) shares[(sg * HEADS + h) * TILE + t] = s;
    }
  }
}

// Online softmax: turns the scores of the tile's n rows into p[t][h] = e^(s-m), updates (m, l) of each head,
// and stores in shrink the factor on the sums so far.
template <uint HEADS, uint TILE, uint SIMDGROUPS, typename S>
static inline void tile_softmax(threadgroup const float * shares, uint n, thread const S & seen, threadgroup float * p, threadgroup float * ml,
                                threadgroup float * shrink, ushort sg, ushort lane) {
  for (uint h = sg; h < HEADS; h += SIMDGROUPS) {
    const float before = ml[2u * h], l = ml[2u * h + 1u];
    const bool counts = lane < rows_seen(seen, h);
    float s = 0.0f;
    for (uint i = 0; lane < n && i < SIMDGROUPS; ++i) s += shares[(i * HEADS + h) * TILE + lane];
    s = counts ? s * score_scale(seen, h) : -1e30f;
    const float m = max(before, simd_max(s));
    const float e = counts ? exp(s - m) : 0.0f;
    const float sum = simd_sum(e);
    if (lane < n) p[lane * HEADS + h] = e;
    simdgroup_barrier(mem_flags::mem_threadgroup); // every lane has read ml before lane 0 writes it
    if (lane == 0) {
      shrink[h] = exp(before - m);
      ml[2u * h] = m;
      ml[2u * h + 1u] = fma(l, exp(before - m), sum);
    }
  }
}

// Adds the tile's values to the sums of the thread's latent columns tid, tid + THREADS, …
template <uint HEADS, uint LAT, uint WIDTH, uint COLUMNS, uint THREADS>
static inline void tile_values(threadgroup const float * tile, uint n, threadgroup const float * p, threadgroup const float * shrink,
                               thread float * sums, uint tid) {
  UNROLL for (uint k = 0; k < COLUMNS; ++k) {
    const uint c = min(tid + k * THREADS, LAT - 1u);
    UNROLL for (uint h = 0; h < HEADS; ++h) sums[k * HEADS + h] *= shrink[h];
    for (uint t = 0; t < n; ++t) {
      const float v = tile[t * WIDTH + c];
      UNROLL for (uint h = 0; h < HEADS; ++h) sums[k * HEADS + h] = fma(p[t * HEADS + h], v, sums[k * HEADS + h]);
    }
  }
}

// Divides the thread's sums by l and stores them; out is [HEADS][LAT].
template <uint HEADS, uint LAT, uint COLUMNS, uint THREADS, typename A>
static inline void store_values(device A * out, thread const float * sums, threadgroup const float * ml, uint tid) {
  UNROLL for (uint k = 0; k < COLUMNS; ++k) {
    const uint c = tid + k * THREADS;
    if (c < LAT) {
      UNROLL for (uint h = 0; h < HEADS; ++h) out[h * LAT + c] = A(sums[k * HEADS + h] / ml[2u * h + 1u]);
    }
  }
}
