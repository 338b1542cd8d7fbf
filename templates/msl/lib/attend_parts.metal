// Attention of the rows of a prompt over expanded heads, softmax(Q K^T) V of one head, on devices where a
// product of floats takes no longer than one of halves. It is fused, so that scores never leave the chip.

// A threadgroup has one head and some rows. SLICES simdgroups share M blocks of 8 queries, and loop over the
// cache in tiles. Each simdgroup computes some scores of a tile. The weights pass through threadgroup memory,
// and each simdgroup multiplies all weights by its own columns of the values. So a simdgroup has few matrices
// of results, no block of keys or values is loaded twice, and these need no threadgroup memory. The softmax
// is that of attend_matrix: weights are e^(score - reference), and the reference follows the maximum only
// when a weight would exceed the range of halves.
template <uint WIDTH, uint NOPE, uint PE, uint V, uint M, uint SLICES, uint SIMDGROUPS, uint TILE, typename A>
struct attend_parts {
  typedef typename operand<A>::matrix matrix_t;
  enum : uint {
    N = TILE / 8u,      // blocks of a tile's cache rows
    VALUES = V / 8u,
    OWN = (VALUES + SLICES - 1u) / SLICES, // blocks of a simdgroup's result columns
    // Scores of a simdgroup: QUERIES × KEYS blocks. They need the fewest loads if both numbers are about equal.
    PAIRS = SLICES % 2u == 0u && M % 2u == 0u && N / SLICES < M ? 2u : 1u,
    QUERIES = M / PAIRS,
    KEYS = N / SLICES * PAIRS,
    ROWS = 8u * M,      // queries
    SCORE_ROW = TILE + 4u, // floats
    WEIGHT_ROW = SCORE_ROW * 4u / sizeof(A),
    LANES = power_of_two<4u * SLICES / M, 32u>::VALUE, // that share a query's softmax
    EACH = TILE / LANES,
    SOFTMAX = ROWS * LANES, // threads
    BESIDE = 2u,        // blocks of results that are stored at a time
    STORED_ROW = 8u * BESIDE + 4u,
    OF_SLICES = M * 64u + SLICES,
    SHARED = ROWS * SCORE_ROW > SLICES * 8u * STORED_ROW ? ROWS * SCORE_ROW : SLICES * 8u * STORED_ROW,
  };

  // The threadgroup memory of the simdgroups that share queries.
  struct memory {
    threadgroup float * scores;  // [ROWS][SCORE_ROW]; weights overwrite them, and results at the end
    threadgroup float * factors; // [M][8][8]: factors on earlier results, on diagonals
    threadgroup float * shrinks; // [SLICES]: whether those of a simdgroup's queries do
  };
  static inline memory in(threadgroup float * scratch, uint team) {
    memory m;
    m.scores = scratch + team * (SHARED + OF_SLICES);
    m.factors = m.scores + SHARED;
    m.shrinks = m.factors + M * 64u;
    return m;
  }

  // The row of query i. Blocks are full, so the last block may repeat rows of the one before; their results are
  // not stored.
  static inline uint row_of(uint first, uint i) { return min(first + i / 8u * 8u, WIDTH - 8u) + i % 8u; }
  static inline bool own_row(uint first, uint i) { return row_of(first, i) >= first + i / 8u * 8u; }

  // s[QUERIES][KEYS] += queries times keys, over COLUMNS columns; rows of queries are q_stride apart, rows of
  // keys COLUMNS.
  template <uint COLUMNS>
  static inline void add_scores(thread simdgroup_float8x8 * s, device const A * q, uint q_stride, uint first, device const A * keys) {
    uint at[QUERIES];
    UNROLL for (uint b = 0; b < QUERIES; ++b) at[b] = row_of(first, 8u * b) * q_stride;
    for (uint c = 0; c < COLUMNS; c += 8u) {
      matrix_t a[QUERIES];
      UNROLL for (uint b = 0; b < QUERIES; ++b) simdgroup_load(a[b], q + at[b] + c, q_stride);
      UNROLL for (uint n = 0; n < KEYS; ++n) {
        matrix_t k;
        simdgroup_load(k, keys + 8u * n * COLUMNS + c, COLUMNS, 0, true);
        UNROLL for (uint b = 0; b < QUERIES; ++b) simdgroup_multiply_accumulate(s[b * KEYS + n], a[b], k, s[b * KEYS + n]);
      }
    }
  }

  // For a thread's query: how many cache rows it attends to, the factor on its scores, and the state of its softmax.
  struct running { uint behind; float scale, reference, sum; };

  // Turns the scores of a tile, which begins at cache row `at`, into weights. `own` is the thread's number
  // among those that share queries.
  static inline void softmax(thread running & t, memory m, uint at, uint slice, uint own, ushort lane) {
    const uint row = min(own, SOFTMAX - 1u) / LANES, first = own % LANES * EACH;
    const bool live = SOFTMAX == SLICES * 32u || own < SOFTMAX;
    threadgroup float * scores = m.scores + row * SCORE_ROW;
    float v[EACH];
    float top = -1e30f;
    UNROLL for (uint i = 0; i < EACH; ++i) {
      v[i] = at + first + i < t.behind ? scores[first + i] * t.scale : -1e30f;
      top = max(top, v[i]);
    }
    UNROLL for (ushort d = 1; d < LANES; d *= 2) top = max(top, simd_shuffle_xor(top, d));
    float shrink = 1.0f;
    if (top > t.reference + 10.397f) { // ln 2^15 above it a weight could be more than half's 65504
      shrink = exp(t.reference - (top - 2.772f));
      t.reference = top - 2.772f;
    }
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EACH; ++i) {
      v[i] = at + first + i < t.behind ? float(A(exp(v[i] - t.reference))) : 0.0f;
      sum += v[i];
    }
    t.sum = fma(t.sum, shrink, sum);
    simdgroup_barrier(mem_flags::mem_threadgroup); // all have read the scores of their rows
    if (live) {
      UNROLL for (uint i = 0; i < EACH; ++i) ((threadgroup A *)scores)[first + i] = A(v[i]);
      diagonal(m, row, own % LANES, shrink);
    }
    const bool shrinks = simd_any(shrink != 1.0f);
    if (lane == 0) m.shrinks[slice] = shrinks ? 1.0f : 0.0f;
  }
  static inline void diagonal(memory m, uint row, uint nth, float factor) {
    for (uint i = nth; i < 8u; i += LANES) m.factors[8u * row + i] = i == row % 8u ? factor : 0.0f;
  }

  // o[M][OWN] += the tile's weights times the simdgroup's columns of its values, after rescaling o.
  static inline void multiply_values(thread simdgroup_float8x8 * o, memory m, device const A * values, uint slice) {
    float shrinks = 0.0f;
    UNROLL for (uint i = 0; i < SLICES; ++i) shrinks += m.shrinks[i];
    if (shrinks > 0.0f) {
      UNROLL for (uint b = 0; b < M; ++b) scale_rows<OWN>(o + b * OWN, m.factors + 64u * b);
    }
    for (uint n = 0; n < N; ++n) {
      matrix_t p[M];
      UNROLL for (uint b = 0; b < M; ++b) simdgroup_load(p[b], (threadgroup const A *)m.scores + 8u * b * WEIGHT_ROW + 8u * n, WEIGHT_ROW);
      UNROLL for (uint j = 0; j < OWN; ++j) {
        if (VALUES % SLICES != 0u && slice * OWN + j >= VALUES) continue;
        matrix_t v;
        simdgroup_load(v, values + 8u * j * PAGE_ROWS + 8u * n, PAGE_ROWS, 0, true);
        UNROLL for (uint b = 0; b < M; ++b) simdgroup_multiply_accumulate(o[b * OWN + j], p[b], v, o[b * OWN + j]);
      }
    }
  }

  // Attends to the cache rows of a run of rows with one block table. Pages are full, because expand_heads
  // repeats the last row.
  static inline void follow(head_cache<A> c, head_rows<A> r, alike run, uint row, thread simdgroup_float8x8 * o, thread running & t, memory m, uint slice, ushort lane) {
    const uint queries = slice % PAIRS * QUERIES * 8u, keys = slice / PAIRS * KEYS * 8u;
    device const uint * pages = c.all_tables + run.table * c.max_pages;
    for (uint at = 0; at < run.nkv; at += TILE) {
      device const A * page = c.heads + ulong(pages[at / PAGE_ROWS]) * c.elements;
      const uint in_page = at % PAGE_ROWS;
      simdgroup_float8x8 s[QUERIES * KEYS];
      UNROLL for (uint i = 0; i < QUERIES * KEYS; ++i) s[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      add_scores<NOPE>(s, r.q_nope, r.nope_stride, row + queries, page + c.keys + (in_page + keys) * NOPE);
      add_scores<PE>(s, r.q_pe, r.pe_stride, row + queries, page + c.rotated + (in_page + keys) * PE);
      threadgroup_barrier(mem_flags::mem_threadgroup); // all have read the weights before, which scores overwrite
      UNROLL for (uint i = 0; i < QUERIES * KEYS; ++i) simdgroup_store(s[i], m.scores + (queries + i / KEYS * 8u) * SCORE_ROW + keys + i % KEYS * 8u, SCORE_ROW);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      softmax(t, m, at, slice, slice * 32u + lane, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup); // weights are complete
      multiply_values(o, m, page + c.values + slice * (OWN * 8u * PAGE_ROWS) + in_page, slice);
    }
  }

  // Divides the results, and stores those of used rows.
  static inline void finish(head_rows<A> r, uint row, thread simdgroup_float8x8 * o, thread running & t, memory m, uint slice, ushort lane) {
    const uint own = slice * 32u + lane;
    UNROLL for (ushort d = 1; d < LANES; d *= 2) t.sum += simd_shuffle_xor(t.sum, d);
    threadgroup_barrier(mem_flags::mem_threadgroup); // all threads have read threadgroup memory
    if (own < SOFTMAX) diagonal(m, own / LANES, own % LANES, t.sum > 0.0f ? 1.0f / t.sum : 0.0f);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup float * block = m.scores + slice * (8u * STORED_ROW);
    UNROLL for (uint b = 0; b < M; ++b) {
      scale_rows<OWN>(o + b * OWN, m.factors + 64u * b);
      UNROLL for (uint j = 0; j < OWN; j += BESIDE) {
        UNROLL for (uint i = 0; i < BESIDE && j + i < OWN; ++i) simdgroup_store(o[b * OWN + j + i], block + 8u * i, STORED_ROW);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = lane; i < 64u * BESIDE; i += 32u) {
          const uint nth = 8u * b + i / (8u * BESIDE), live = row_of(row, nth), own_column = 8u * j + i % (8u * BESIDE), column = slice * (8u * OWN) + own_column;
          if (own_column < 8u * OWN && column < V && own_row(row, nth) && r.rows[live].nkv > 0u) {
            r.out[ulong(live) * r.out_stride + column] = A(block[i / (8u * BESIDE) * STORED_ROW + i % (8u * BESIDE)]);
          }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }

  static inline void run(head_cache<A> c, head_rows<A> r, score_scales scales, threadgroup float * scratch, uint, ushort sg, ushort lane) {
    enum : uint { ALL = SIMDGROUPS / SLICES * ROWS };
    const uint slice = sg % SLICES, row = r.first + sg / SLICES * ROWS, end = min(r.first + ALL, WIDTH);
    const uint own = row_of(row, min(slice * 32u + lane, SOFTMAX - 1u) / LANES);
    const uint4 seen = whole(r.rows[own]);
    const memory m = in(scratch, sg / SLICES);
    simdgroup_float8x8 o[M * OWN];
    UNROLL for (uint i = 0; i < M * OWN; ++i) o[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    running t{0u, scale_at(scales, seen.y), -1e30f, 0.0f};
    for (uint at = r.first; at < end;) {
      const alike run = alike_at<ALL>(r.rows, at, end, lane);
      t.behind = own >= run.from && own < run.end ? seen.z : 0u;
      if (run.nkv > 0u) follow(c, r, run, row, o, t, m, slice, lane);
      at = run.end;
    }
    finish(r, row, o, t, m, slice, lane);
  }
};
