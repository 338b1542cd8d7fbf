// A platform that specifies which elements of a block a lane holds defines HEAD_LANES: attention to a tile of
// halves without passing scores through memory, and a layout of columns of its own. This default has KNOWN =
// false.
#ifndef HEAD_LANES
#define HEAD_LANES
template <uint M, uint COLUMNS, uint VALUES, uint EACH, uint TERMS>
struct head_lanes {
  enum : bool { KNOWN = false };
  static inline uint column_at(uint, uint column) { return column; }
  template <typename A>
  static inline void load_block(thread simdgroup_half8x8 *, device const A *, device const A *, uint, ushort) {}
  template <uint KEY_ROW>
  static inline void attend_keys(thread const simdgroup_half8x8 *, thread simdgroup_half8x8 *, thread simdgroup_float8x8 *, threadgroup const half *, uint,
                                 thread const uint *, thread const float *, thread float *, thread float *, ushort) {}
  template <uint VALUE_ROW>
  static inline void attend_values(thread const simdgroup_half8x8 *, thread simdgroup_float8x8 *, threadgroup const half *, thread float *, ushort) {}
  template <typename A>
  static inline void store_block(thread const simdgroup_float8x8 *, float, device A *, ushort) {}
};
#endif

// Attention of the rows of a prompt over expanded heads, in products of 8 × 8 blocks of halves. A threadgroup
// has one head and some rows. It loops once over the keys and values of the head for all its rows, and scores
// never leave the chip. While the simdgroups multiply by the keys of a tile, its values are in flight; while
// they multiply by values, the next keys are. A float is the sum of two halves; the smallest of the four
// products is left out.

// A simdgroup has M blocks of 8 queries, and EACH of the KEYS cache rows of a tile; SLICES simdgroups share
// the queries. Without ROOMY, threadgroup memory has only the tile: scores of halves overwrite its keys, and
// tiles of floats have half as many rows. The softmax is that of attend_matrix: weights are e^(score -
// reference), and the reference follows the maximum only when a weight would exceed the range of halves.
template <uint WIDTH, uint NOPE, uint PE, uint V, uint M, uint SLICES, uint SIMDGROUPS, uint TILE, bool ROOMY, typename A>
struct attend_heads {
  typedef head_eight<A> eight_t;
  enum : uint {
    TERMS = eight_t::TERMS,
    KEYS = ROOMY || TERMS == 1u ? TILE / TERMS : TILE / 4u,
    ACTIVE = KEYS / 8u < SLICES ? KEYS / 8u : SLICES, // of the simdgroups that share queries
    EACH = KEYS / ACTIVE,
    DK = NOPE + PE,
    COLUMNS = DK / 8u,      // blocks
    VALUES = V / 8u,
    N = EACH / 8u,
  };
  typedef head_lanes<M, COLUMNS, VALUES, EACH, TERMS> lanes_t;
  enum : bool { KNOWN = lanes_t::KNOWN, APART = ROOMY || TERMS == 2u }; // APART: scores have memory of their own
  enum : uint {
    PAD = APART && !KNOWN ? 8 : 0, // halves, so that lanes that load at the same time use different banks
    KEY_ROW = DK + PAD,     // halves
    VALUE_ROW = KEYS + PAD,
    SCORE_ROW = EACH + 4u,  // floats; as halves, a row has room for two terms
    THREADS = SIMDGROUPS * 32u,
    KEY_HALVES = KEYS * KEY_ROW, // of a term
    VALUE_HALVES = V * VALUE_ROW,
    VALUE_EIGHTS = V * (KEYS / 8u),
    VALUE_LOADS = (VALUE_EIGHTS + THREADS - 1u) / THREADS,
    SCORES = 2u * SIMDGROUPS * 8u * SCORE_ROW, // halves
    KEYS_END = APART || TERMS * KEY_HALVES > SCORES ? TERMS * KEY_HALVES : SCORES,
    LANES = EACH / 4u,      // scores of a lane: four lanes share a row
    SHARED = 2u * EACH,     // columns of queries that pass through the scores' memory at a time
  };

  struct memory {
    threadgroup half * keys;    // [TERMS][KEYS][KEY_ROW]
    threadgroup half * values;  // [TERMS][V][VALUE_ROW]
    threadgroup float * scores; // [8][SCORE_ROW] of the simdgroup
  };
  static inline memory in(threadgroup float * scratch, ushort sg) {
    memory m;
    m.keys = (threadgroup half *)scratch;
    m.values = m.keys + KEYS_END;
    m.scores = (threadgroup float *)(APART ? m.values + TERMS * VALUE_HALVES : m.keys) + sg * (8u * SCORE_ROW);
    return m;
  }

  // A thread's parts of a tile, from cache row `at` of a page on. Pages are full, because expand_heads repeats
  // the last row. If threads share rows evenly, the parts of a thread are equally spaced in memory, and
  // addresses need no registers of their own. If this is not so for whole rows of keys, the columns of the head
  // are copied first, and then the rotated columns that all heads share.
  enum : bool { WHOLE_ROWS = THREADS % COLUMNS == 0u || THREADS % (NOPE / 8u) != 0u };
  enum : uint {
    FIRST_PART = WHOLE_ROWS ? COLUMNS : NOPE / 8u,
    FIRST_LOADS = (KEYS * FIRST_PART + THREADS - 1u) / THREADS,
    KEY_LOADS = FIRST_LOADS + (KEYS * (COLUMNS - FIRST_PART) + THREADS - 1u) / THREADS,
  };
  struct key_copies { eight_t e[KEY_LOADS]; };
  struct value_copies { eight_t e[VALUE_LOADS]; };
  template <uint ALL>
  static inline bool is_there(uint k, uint tid) { return k * THREADS + THREADS <= ALL || tid + k * THREADS < ALL; }

  // COUNT blocks of columns of a tile's keys, from block FIRST on.
  template <uint FIRST, uint COUNT>
  struct key_part {
    enum : bool { EVENLY = THREADS % COUNT == 0u };
    enum : uint { LOADS = (KEYS * COUNT + THREADS - 1u) / THREADS, ROWS = THREADS / COUNT };
    static inline uint row_of(uint k, uint tid) { return EVENLY ? tid / COUNT + k * ROWS : (tid + k * THREADS) / COUNT; }
    static inline uint column_of(uint k, uint tid) { return 8u * (FIRST + (EVENLY ? tid : tid + k * THREADS) % COUNT); }
    static inline threadgroup half * place(memory m, uint k, uint tid) {
      return m.keys + row_of(k, tid) * KEY_ROW + lanes_t::column_at(row_of(k, tid), column_of(k, tid));
    }
    static inline void begin_part(thread eight_t * e, memory m, head_cache<A> c, device const A * page, uint at, uint tid) {
      uint from = 0u;
      UNROLL for (uint k = 0; k < LOADS; ++k) {
        const uint column = column_of(k, tid), width = column < NOPE ? NOPE : PE;
        if (k > 0u && EVENLY) from += ROWS * width;
        else from = (column < NOPE ? c.keys + column : c.rotated + column - NOPE) + (at + row_of(k, tid)) * width;
        if (is_there<KEYS * COUNT>(k, tid)) eight_t::begin_eight(e[k], place(m, k, tid), page + from);
      }
    }
    static inline void end_part(thread const eight_t * e, memory m, uint tid) {
      UNROLL for (uint k = 0; k < LOADS; ++k) {
        if (is_there<KEYS * COUNT>(k, tid)) eight_t::template end_eight<KEY_HALVES>(e[k], place(m, k, tid));
      }
    }
  };
  typedef key_part<0, FIRST_PART> first_part;
  typedef key_part<WHOLE_ROWS ? 0u : FIRST_PART, WHOLE_ROWS ? COLUMNS : COLUMNS - FIRST_PART> last_part;
  static inline void begin_keys(thread key_copies & l, memory m, head_cache<A> c, device const A * page, uint at, uint tid) {
    first_part::begin_part(l.e, m, c, page, at, tid);
    if (!WHOLE_ROWS) last_part::begin_part(l.e + FIRST_LOADS, m, c, page, at, tid);
  }
  static inline void end_keys(thread const key_copies & l, memory m, uint tid) {
    first_part::end_part(l.e, m, tid);
    if (!WHOLE_ROWS) last_part::end_part(l.e + FIRST_LOADS, m, tid);
  }
  static inline threadgroup half * value_at(memory m, uint k, uint tid) {
    return m.values + tid / (KEYS / 8u) * VALUE_ROW + tid % (KEYS / 8u) * 8u + k * (THREADS / (KEYS / 8u) * VALUE_ROW);
  }
  static inline void begin_values(thread value_copies & l, memory m, head_cache<A> c, device const A * page, uint at, uint tid) {
    device const A * from = page + (c.values + tid / (KEYS / 8u) * PAGE_ROWS + tid % (KEYS / 8u) * 8u + at);
    UNROLL for (uint k = 0; k < VALUE_LOADS; ++k) {
      if (is_there<VALUE_EIGHTS>(k, tid)) eight_t::begin_eight(l.e[k], value_at(m, k, tid), from + k * (THREADS / (KEYS / 8u) * PAGE_ROWS));
    }
  }
  static inline void end_values(thread const value_copies & l, memory m, uint tid) {
    UNROLL for (uint k = 0; k < VALUE_LOADS; ++k) {
      if (is_there<VALUE_EIGHTS>(k, tid)) eight_t::template end_eight<VALUE_HALVES>(l.e[k], value_at(m, k, tid));
    }
  }

  // Loads SHARED columns of eight queries, from `column` on, to q[column block], through the memory of scores.
  template <uint TERM>
  static inline void form(head_rows<A> r, memory m, uint row, uint column, thread simdgroup_half8x8 * q, ushort lane) {
    threadgroup half * staged = (threadgroup half *)m.scores;
    for (uint i = lane; i < SHARED; i += 32u) {
      const uint at = min(r.first + row + i / (SHARED / 8u), WIDTH - 1u), c = column + i % (SHARED / 8u) * 8u;
      if (c < DK) {
        eight_t::template put<TERM>(staged + i / (SHARED / 8u) * (2u * SCORE_ROW) + i % (SHARED / 8u) * 8u,
                                    c < NOPE ? r.q_nope + ulong(at) * r.nope_stride + c : r.q_pe + ulong(at) * r.pe_stride + c - NOPE);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    UNROLL for (uint j = 0; j < SHARED / 8u; ++j) {
      if (column + 8u * j < DK) simdgroup_load(q[j], staged + 8u * j, 2u * SCORE_ROW);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  static inline void form_queries(head_rows<A> r, memory m, uint row, thread simdgroup_half8x8 * q, ushort lane) {
    UNROLL for (uint b = 0; b < M; ++b) {
      if (KNOWN) {
        const ulong at = min(r.first + row + 8u * b + lane / 4u, WIDTH - 1u);
        lanes_t::load_block(q + b * COLUMNS, r.q_nope + at * r.nope_stride, r.q_pe + at * r.pe_stride, NOPE, lane);
      }
      UNROLL for (uint c = 0; !KNOWN && c < DK; c += SHARED) {
        form<0>(r, m, row + 8u * b, c, q + b * COLUMNS + c / 8u, lane);
        if (TERMS == 2u) form<TERMS - 1u>(r, m, row + 8u * b, c, q + (M + b) * COLUMNS + c / 8u, lane);
      }
    }
  }

  // s[M][N] += one term of the queries times one term of the tile's keys.
  static inline void add_scores(thread simdgroup_float8x8 * s, thread const simdgroup_half8x8 * q, threadgroup const half * keys) {
    UNROLL for (uint k = 0; k < COLUMNS; k += 2u) {
      simdgroup_half8x8 b[2u * N];
      UNROLL for (uint i = 0; i < 2u && k + i < COLUMNS; ++i) {
        UNROLL for (uint n = 0; n < N; ++n) simdgroup_load(b[i * N + n], keys + 8u * n * KEY_ROW + 8u * (k + i), KEY_ROW, 0, true);
      }
      if (k + 2u <= COLUMNS) multiply_matrix<M, N, 2>(s, N, q + k, COLUMNS, b, N);
      else multiply_matrix<M, N, 1>(s, N, q + k, COLUMNS, b, N);
    }
  }

  // o[M][VALUES] += one term of the weights times one term of the tile's values.
  static inline void add_values(thread simdgroup_float8x8 * o, thread const simdgroup_half8x8 * p, threadgroup const half * values) {
    UNROLL for (uint j = 0; j < VALUES; ++j) {
      simdgroup_half8x8 b[N];
      UNROLL for (uint n = 0; n < N; ++n) simdgroup_load(b[n], values + 8u * j * VALUE_ROW + 8u * n, VALUE_ROW, 0, true);
      multiply_matrix<M, 1, N>(o + j, VALUES, p, N, b, 1);
    }
  }

  // For a lane's query in each block: how many cache rows it attends to, the factor on its scores, and the
  // state of its softmax.
  struct running { uint behind[M]; float scale[M], reference[M], sum[M]; };

  // Turns the scores of block b into weights, for the simdgroup's part of a tile, which begins at cache row `at`.
  static inline void softmax(thread running & t, thread const simdgroup_float8x8 * s, thread simdgroup_float8x8 * o, thread simdgroup_half8x8 * p,
                             memory m, uint b, uint at, ushort lane) {
    UNROLL for (uint n = 0; n < N; ++n) simdgroup_store(s[n], m.scores + 8u * n, SCORE_ROW);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = lane / 4u, first = lane % 4u * LANES;
    float v[LANES];
    float top = -1e30f;
    UNROLL for (uint i = 0; i < LANES; ++i) {
      v[i] = at + first + i < t.behind[b] ? m.scores[row * SCORE_ROW + first + i] * t.scale[b] : -1e30f;
      top = max(top, v[i]);
    }
    UNROLL for (ushort d = 1; d < 4u; d *= 2) top = max(top, simd_shuffle_xor(top, d));
    float shrink = 1.0f;
    if (top > t.reference[b] + 10.397f) { // ln 2^15 above it a weight could be more than half's 65504
      shrink = exp(t.reference[b] - (top - 2.772f));
      t.reference[b] = top - 2.772f;
    }
    float sum = 0.0f;
    threadgroup half * weights = (threadgroup half *)m.scores + row * (2u * SCORE_ROW) + first;
    UNROLL for (uint i = 0; i < LANES; ++i) {
      v[i] = at + first + i < t.behind[b] ? exp(v[i] - t.reference[b]) : 0.0f;
      sum += TERMS == 1u ? float(half(v[i])) : v[i];
    }
    t.sum[b] = fma(t.sum[b], shrink, sum);
    simdgroup_barrier(mem_flags::mem_threadgroup); // all have read their scores
    UNROLL for (uint i = 0; i < LANES; ++i) {
      weights[i] = half(v[i]);
      if (TERMS == 2u) weights[SCORE_ROW + i] = half(v[i] - float(half(v[i])));
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    UNROLL for (uint n = 0; n < N; ++n) {
      UNROLL for (uint i = 0; i < TERMS; ++i) simdgroup_load(p[(i * M + b) * N + n], (threadgroup half *)m.scores + i * SCORE_ROW + 8u * n, 2u * SCORE_ROW);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (simd_any(shrink != 1.0f)) { // scale the sums by a diagonal matrix
      UNROLL for (uint i = 0; i < 2u; ++i) m.scores[row * 8u + lane % 4u * 2u + i] = lane % 4u * 2u + i == row ? shrink : 0.0f;
      simdgroup_barrier(mem_flags::mem_threadgroup);
      scale_rows<VALUES>(o + b * VALUES, m.scores);
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  // Computes scores for the simdgroup's part of the tile, which begins at cache row `at`. With KNOWN, they
  // become weights at once.
  static inline void multiply_keys(thread running & t, thread const simdgroup_half8x8 * q, thread simdgroup_float8x8 * o, thread simdgroup_float8x8 * s,
                                 thread simdgroup_half8x8 * p, memory m, uint at, uint slice, ushort lane) {
    threadgroup const half * keys = m.keys + slice * EACH * KEY_ROW;
    if (KNOWN) {
      lanes_t::template attend_keys<KEY_ROW>(q, p, o, keys, at + slice * EACH, t.behind, t.scale, t.reference, t.sum, lane);
      return;
    }
    UNROLL for (uint i = 0; i < M * N; ++i) s[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    add_scores(s, q, keys);
    if (TERMS == 2u) {
      add_scores(s, q + M * COLUMNS, keys);
      add_scores(s, q, keys + KEY_HALVES);
    }
  }
  static inline void multiply_values(thread running & t, thread const simdgroup_half8x8 * p, thread simdgroup_float8x8 * o, memory m, uint slice, ushort lane) {
    threadgroup const half * values = m.values + slice * EACH;
    if (KNOWN) {
      lanes_t::template attend_values<VALUE_ROW>(p, o, values, t.sum, lane);
      return;
    }
    add_values(o, p, values);
    if (TERMS == 2u) {
      add_values(o, p + M * N, values);
      add_values(o, p, values + VALUE_HALVES);
    }
  }

  // Attends to the cache rows of a run of rows with one block table.
  static inline void follow(head_cache<A> c, head_rows<A> r, alike run, uint row, thread const simdgroup_half8x8 * q, thread simdgroup_float8x8 * o, thread running & t,
                            score_scales scales, threadgroup float * scratch, uint slice, uint tid, ushort sg, ushort lane) {
    const memory m = in(scratch, sg);
    device const uint * pages = c.all_tables + run.table * c.max_pages;
    device const A * page = c.heads + ulong(pages[0]) * c.elements;
    key_copies k;
    value_copies v;
    threadgroup_barrier(mem_flags::mem_threadgroup); // all threads have read threadgroup memory
    begin_keys(k, m, c, page, 0u, tid);
    uint most = 0u;
    UNROLL for (uint b = 0; b < M; ++b) {
      const uint at = r.first + row + 8u * b + lane / 4u;
      const uint4 of = whole(r.rows[min(at, WIDTH - 1u)]);
      t.behind[b] = at >= run.from && at < run.end ? of.z : 0u;
      t.scale[b] = scale_at(scales, of.y);
      most = max(most, t.behind[b]);
    }
    most = simd_max(most);
    for (uint at = 0; at < run.nkv; at += KEYS) {
      const uint next = at + KEYS;
      const bool attends = slice < ACTIVE && at + slice * EACH < most;
      simdgroup_float8x8 s[M * N];
      simdgroup_half8x8 p[TERMS * M * N];
      end_keys(k, m, tid);
      COPIES_LAND;
      threadgroup_barrier(mem_flags::mem_threadgroup); // keys have arrived, and all have read the values before
      begin_values(v, m, c, page, at % PAGE_ROWS, tid);
      const uint following = next < run.nkv ? pages[next / PAGE_ROWS] : 0u;
      if (attends) {
        multiply_keys(t, q, o, s, p, m, at, slice, lane);
        UNROLL for (uint b = 0; APART && !KNOWN && b < M; ++b) softmax(t, s + b * N, o, p, m, b, at + slice * EACH, lane);
      }
      end_values(v, m, tid);
      COPIES_LAND;
      threadgroup_barrier(mem_flags::mem_threadgroup); // values have arrived, and all have read the keys
      page = c.heads + ulong(following) * c.elements;
      if (next < run.nkv) begin_keys(k, m, c, page, next % PAGE_ROWS, tid);
      if (attends) {
        UNROLL for (uint b = 0; !APART && !KNOWN && b < M; ++b) softmax(t, s + b * N, o, p, m, b, at + slice * EACH, lane);
        multiply_values(t, p, o, m, slice, lane);
      }
      if (!APART && !KNOWN) threadgroup_barrier(mem_flags::mem_threadgroup); // all have read the scores, which the next keys overwrite
    }
  }

  // Divides and stores the results of used rows, for platforms with KNOWN lanes.
  static inline void store_lanes(head_rows<A> r, uint row, thread const simdgroup_float8x8 * o, thread const running & t, ushort lane) {
    UNROLL for (uint b = 0; b < M; ++b) {
      const uint live = r.first + row + 8u * b + lane / 4u;
      if (live < WIDTH && r.rows[min(live, WIDTH - 1u)].nkv > 0u) {
        lanes_t::store_block(o + b * VALUES, t.sum[b] > 0.0f ? 1.0f / t.sum[b] : 0.0f, r.out + ulong(live) * r.out_stride, lane);
      }
    }
  }

  // Adds up the results of the simdgroups that share queries, divides, and stores the results of used rows.
  static inline void finish(head_rows<A> r, uint row, thread simdgroup_float8x8 * o, thread running & t, threadgroup float * scratch, uint slice, ushort sg, ushort lane) {
    enum : uint { PART = 4, PART_ROW = 8u * PART + 4u, PART_FLOATS = 8u * PART_ROW, OWN = PART_FLOATS + 64u, ALL = SIMDGROUPS * OWN };
    threadgroup float * block = scratch + sg * OWN;
    threadgroup float * factors = block + PART_FLOATS;
    threadgroup float * states = scratch + ALL; // [SIMDGROUPS][M * 8][2]
    threadgroup float * own = states + sg * (M * 16u);
    threadgroup_barrier(mem_flags::mem_threadgroup); // all have read the last tile
    UNROLL for (uint b = 0; b < M; ++b) {
      UNROLL for (ushort d = 1; !KNOWN && d < 4u; d *= 2) t.sum[b] += simd_shuffle_xor(t.sum[b], d);
      if (lane % 4u == 0u) {
        own[(8u * b + lane / 4u) * 2u] = t.reference[b];
        own[(8u * b + lane / 4u) * 2u + 1u] = t.sum[b];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const float * shared = states + (sg - slice) * (M * 16u);
    UNROLL for (uint b = 0; b < M; ++b) {
      const uint at = (8u * b + lane / 4u) * 2u;
      float top = -1e30f, sum = 0.0f;
      UNROLL for (uint i = 0; i < SLICES; ++i) top = max(top, shared[i * (M * 16u) + at]);
      UNROLL for (uint i = 0; i < SLICES; ++i) sum = fma(shared[i * (M * 16u) + at + 1u], exp(shared[i * (M * 16u) + at] - top), sum);
      const float factor = sum > 0.0f ? exp(t.reference[b] - top) / sum : 0.0f;
      UNROLL for (uint i = 0; i < 2u; ++i) factors[lane / 4u * 8u + lane % 4u * 2u + i] = lane % 4u * 2u + i == lane / 4u ? factor : 0.0f;
      simdgroup_barrier(mem_flags::mem_threadgroup);
      scale_rows<VALUES>(o + b * VALUES, factors);
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    UNROLL for (uint b = 0; b < M; ++b) {
      UNROLL for (uint j = 0; j < VALUES; j += PART) {
        UNROLL for (uint i = 0; i < PART && j + i < VALUES; ++i) simdgroup_store(o[b * VALUES + j + i], block + 8u * i, PART_ROW);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = slice * 32u + lane; i < 64u * PART; i += SLICES * 32u) {
          const uint at = i / (8u * PART), column = i % (8u * PART), live = r.first + row + 8u * b + at;
          float sum = 0.0f;
          UNROLL for (uint k = 0; k < SLICES; ++k) sum += scratch[(sg - slice + k) * OWN + at * PART_ROW + column];
          if (8u * j + column < V && live < WIDTH && r.rows[min(live, WIDTH - 1u)].nkv > 0u) r.out[ulong(live) * r.out_stride + 8u * j + column] = A(sum);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }

  static inline void run(head_cache<A> c, head_rows<A> r, score_scales scales, threadgroup float * scratch, uint tid, ushort sg, ushort lane) {
    const uint slice = sg % SLICES, row = sg / SLICES * (8u * M);
    simdgroup_half8x8 q[TERMS * M * COLUMNS];
    simdgroup_float8x8 o[M * VALUES];
    running t;
    UNROLL for (uint b = 0; b < M; ++b) {
      t.reference[b] = -1e30f;
      t.sum[b] = 0.0f;
    }
    UNROLL for (uint i = 0; i < M * VALUES; ++i) o[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    form_queries(r, in(scratch, sg), row, q, lane);
    enum : uint { ROWS = SIMDGROUPS / SLICES * 8u * M };
    const uint end = min(r.first + ROWS, WIDTH);
    for (uint at = r.first; at < end;) {
      const alike run = alike_at<ROWS>(r.rows, at, end, lane);
      if (run.nkv > 0u) follow(c, r, run, row, q, o, t, scales, scratch, slice, tid, sg, lane);
      at = run.end;
    }
    LAUNCH_DEPENDENTS;
    if (KNOWN && SLICES == 1u) store_lanes(r, row, o, t, lane);
    else finish(r, row, o, t, scratch, slice, sg, lane);
  }
};
