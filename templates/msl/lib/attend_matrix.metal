// Loads four columns of queries.
template <typename X>
static inline void load_query4(X x, uint i, thread float * y) { load4(x, i, y); }

// Split-KV latent attention on halves, in products of 8 × 8 blocks. The cache has elements of type T. Each
// simdgroup has some columns: VALUES blocks of latent columns, then blocks of rotated columns. For each tile
// of TILE rows it loads its columns once, one tile ahead, converts them to halves on the way through
// threadgroup memory, and holds them in registers, first as keys for its share of the scores, then as values:
//   S[TILE][heads] = Σ over simdgroups of rows · queries,  O[heads][columns] += P · rows
// A query is the sum of TERMS halves. The weights P are e^(score - reference) in halves. The reference
// follows the maximum only when a weight would exceed the range of halves, so that O is rarely rescaled. A
// replay has NEW rows, so earlier dispatches of the replay have stored at most the NEW newest cache rows; 0:
// unknown.
template <uint HEADS, uint LAT, uint PE, uint TILE, uint PIECE, uint SIMDGROUPS, uint TERMS, uint NEW, typename T>
struct attend_matrix {
  typedef cache<T, LAT + PE> cache_t;
  typedef typename cache_t::rows rows_t;
  enum : uint {
    WIDTH = LAT + PE,
    H = (HEADS + 7u) / 8u,                                          // blocks of heads
    R = TILE / 8u,                                                  // blocks of rows
    VALUES = (LAT / 8u + SIMDGROUPS - 1u) / SIMDGROUPS,             // blocks of latent columns per simdgroup
    KEYS = VALUES + (PE / 8u + SIMDGROUPS - 1u) / SIMDGROUPS,       // and of all columns
    TURNS = (HEADS * TILE + SIMDGROUPS * 32u - 1u) / (SIMDGROUPS * 32u), // of softmax, a lane per row and head
    QUERY_LOADS = (16u * KEYS + 31u) / 32u,                         // a lane's loads of 4 columns per 8 heads
    EARLY = NEW > 0u && WIDTH % (2u * cache_t::WIDEST) == 0u,       // old rows can be loaded early: no new row shares 32 bytes, which a cache keeps as one, with them
    SHARE_ROW = TILE + 4u,                                          // floats
    WEIGHT_ROW = TILE + 8u,                                         // halves; the rows of a block are in different banks
    STAGE_ROW = (KEYS | 1u) * 8u,                                   // halves
    STAGED = PIECE * STAGE_ROW / 2u,                                // floats of PIECE rows
    SHARES = STAGED > 8u * H * SHARE_ROW ? STAGED : 8u * H * SHARE_ROW, // floats of a simdgroup's shares, or of what it stages
    ROOM = SHARES / 64u,                                            // blocks of results that fit this memory
    AT_ONCE = VALUES <= ROOM ? uint(VALUES) : VALUES % 4u == 0u && ROOM >= 4u ? 4u : VALUES % 2u == 0u && ROOM >= 2u ? 2u : 1u, // blocks of results that pass through it at once
  };

  // The threadgroup's memory, one part behind the other.
  struct memory {
    threadgroup float * shares;  // [SIMDGROUPS][8 H][SHARE_ROW] of the scores; also where queries and results pass
    threadgroup float * shrink;  // [8 H][8]: the diagonal of each block is by what its heads' sums shrink
    threadgroup float * inverse; // [8 H]: 1 / l
    threadgroup half * weights;  // [8 H][WEIGHT_ROW]
  };

  static inline memory in(threadgroup float * scratch) {
    memory m;
    m.shares = scratch;
    m.shrink = scratch + SIMDGROUPS * SHARES;
    m.inverse = m.shrink + 64u * H;
    m.weights = (threadgroup half *)(m.inverse + 8u * H);
    return m;
  }

  // The first column of a simdgroup's block j, and whether the block exists.
  static inline uint column(uint j, ushort sg) {
    return 8u * (j < VALUES ? sg * VALUES + j : LAT / 8u + sg * (KEYS - VALUES) + j - VALUES);
  }
  static inline bool has(uint j, ushort sg) {
    return j < VALUES ? LAT % (8u * SIMDGROUPS) == 0u || column(j, sg) < LAT : PE % (8u * SIMDGROUPS) == 0u || column(j, sg) < WIDTH;
  }

  // One of the two ranges of columns of a simdgroup, from its block FIRST on, in registers. A load has 16 bytes
  // if these divide the range, or else one block.
  template <uint FIRST, uint BLOCKS>
  struct stretch {
    enum : uint {
      EACH = BLOCKS * 8u % cache_t::WIDEST == 0u ? uint(cache_t::WIDEST) : 8u, // columns per load
      PER_ROW = BLOCKS * 8u / EACH,
      LOADS = (TILE * PER_ROW + 31u) / 32u, // of a lane, per tile
    };
    typename cache_t::template columns<EACH> loaded[LOADS];

    // The row and the block of a lane's load k: neighbouring lanes have neighbouring columns.
    static inline uint row(uint k, ushort lane) { return (32u * k + lane) / PER_ROW; }
    static inline uint first(uint k, ushort lane) { return FIRST + (32u * k + lane) % PER_ROW * (EACH / 8u); }

    // Loads the n rows of a tile: rows before `newest` if OLDER, the others if NEWEST. The rest of the tile
    // repeats the last row, and gets no weight.
    template <bool OLDER, bool NEWEST>
    static inline void load_run(thread stretch & u, rows_t tile, uint n, uint newest, ushort sg, ushort lane) {
      UNROLL for (uint k = 0; k < LOADS; ++k) {
        const uint r = row(k, lane), j = first(k, lane), from = min(r, n - 1u);
        const bool wanted = from < newest ? OLDER : NEWEST;
        if (wanted && r < TILE && has(j, sg)) cache_t::fetch_columns(u.loaded[k], tile, from, column(j, sg));
      }
    }

    template <bool OLDER, bool NEWEST>
    static inline void load_run_scales(thread stretch & u, rows_t tile, uint n, uint newest, ushort sg, ushort lane) {
      UNROLL for (uint k = 0; k < LOADS; ++k) {
        const uint r = row(k, lane), j = first(k, lane), from = min(r, n - 1u);
        const bool wanted = from + cache_t::NEIGHBOURS < newest ? OLDER : NEWEST;
        if (wanted && r < TILE && has(j, sg)) cache_t::fetch_scale(u.loaded[k], tile, from, column(j, sg));
      }
    }

    // Writes rows [from, from + PIECE) to staged.
    static inline void stage_run(thread const stretch & u, uint from, threadgroup half * staged, ushort lane) {
      UNROLL for (uint k = 0; k < LOADS; ++k) {
        const uint r = row(k, lane), j = first(k, lane);
        if (r >= from && r < from + PIECE) cache_t::write_halves(u.loaded[k], staged + (r - from) * STAGE_ROW + 8u * j);
      }
    }
  };

  // The simdgroup's columns of a tile.
  struct loads {
    stretch<0, VALUES> values;
    stretch<VALUES, KEYS - VALUES> keys;
  };

  template <bool OLDER, bool NEWEST>
  static inline void load_rows(rows_t tile, uint n, uint newest, thread loads & l, ushort sg, ushort lane) {
    stretch<0, VALUES>::template load_run<OLDER, NEWEST>(l.values, tile, n, newest, sg, lane);
    stretch<VALUES, KEYS - VALUES>::template load_run<OLDER, NEWEST>(l.keys, tile, n, newest, sg, lane);
  }

  template <bool OLDER, bool NEWEST>
  static inline void load_scales(rows_t tile, uint n, uint newest, thread loads & l, ushort sg, ushort lane) {
    stretch<0, VALUES>::template load_run_scales<OLDER, NEWEST>(l.values, tile, n, newest, sg, lane);
    stretch<VALUES, KEYS - VALUES>::template load_run_scales<OLDER, NEWEST>(l.keys, tile, n, newest, sg, lane);
  }

  // Turns the loaded columns into blocks, PIECE rows at a time through the simdgroup's memory: all columns
  // become keys (left operands), latent columns also values (right operands). Pieces beyond the n rows of the
  // tile get no weight; they repeat the first piece.
  static inline void form_rows(thread const loads & l, uint n, memory m, thread simdgroup_half8x8 * keys, thread simdgroup_half8x8 * values, ushort sg, ushort lane) {
    threadgroup half * staged = (threadgroup half *)(m.shares + sg * SHARES);
    UNROLL for (uint p = 0; p < TILE; p += PIECE) {
      if (p > 0u && p >= n) {
        UNROLL for (uint i = 0; i < PIECE / 8u * KEYS; ++i) keys[p / 8u * KEYS + i] = keys[i];
        UNROLL for (uint i = 0; LOAD_FOUR && i < PIECE / 8u * VALUES; ++i) values[p / 8u * VALUES + i] = values[i];
        continue;
      }
      stretch<0, VALUES>::stage_run(l.values, p, staged, lane);
      stretch<VALUES, KEYS - VALUES>::stage_run(l.keys, p, staged, lane);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      load_blocks<false, PIECE / 8u, KEYS>(keys + p / 8u * KEYS, staged, STAGE_ROW, lane);
      if (LOAD_FOUR) load_blocks<true, PIECE / 8u, VALUES>(values + p / 8u * VALUES, staged, STAGE_ROW, lane);
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    UNROLL for (uint i = 0; !LOAD_FOUR && i < R * VALUES; ++i) values[i] = keys[i / VALUES * KEYS + i % VALUES];
  }

  // Loads the simdgroup's columns of the queries, 4 columns of a head at a time, to v[head block][load].
  // Superfluous lanes and heads repeat the loads of others, so that no load waits for a branch.
  template <typename Q>
  static inline void load_queries(Q q_abs, uint abs_stride, Q q_pe, uint pe_stride, thread float * v, ushort sg, ushort lane) {
    UNROLL for (uint k = 0; k < H * QUERY_LOADS; ++k) {
      const uint i = min(32u * (k % QUERY_LOADS) + lane, 16u * KEYS - 1u), j = i / 2u % KEYS, c = column(j, sg) + i % 2u * 4u;
      const uint h = min(k / QUERY_LOADS * 8u + i / (2u * KEYS), HEADS - 1u);
      const bool latent = c < LAT;
      UNROLL for (uint e = 0; e < 4; ++e) v[4u * k + e] = 0.0f;
      if (has(j, sg)) load_query4(latent ? q_abs : q_pe, latent ? h * abs_stride + c : h * pe_stride + c - LAT, v + 4u * k);
    }
  }

  // Turns the loaded queries into transposed blocks, 8 heads at a time through the simdgroup's memory.
  static inline void form_queries(thread float * v, memory m, thread simdgroup_half8x8 * q, ushort sg, ushort lane) {
    threadgroup half * staged = (threadgroup half *)(m.shares + sg * SHARES);
    UNROLL for (uint h = 0; h < H; ++h) {
      UNROLL for (uint t = 0; t < TERMS; ++t) {
        UNROLL for (uint k = 0; k < QUERY_LOADS; ++k) {
          const uint i = 32u * k + lane;
          thread float * left = v + 4u * (h * QUERY_LOADS + k);
          half4 term;
          UNROLL for (uint e = 0; e < 4; ++e) {
            term[e] = half(left[e]);
            left[e] -= float(term[e]);
          }
          if (i < 16u * KEYS) *(threadgroup half4 *)(staged + i / (2u * KEYS) * STAGE_ROW + i % (2u * KEYS) * 4u) = term;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        UNROLL for (uint j = 0; j < KEYS; ++j) simdgroup_load(q[(t * KEYS + j) * H + h], staged + 8u * j, STAGE_ROW, 0, true);
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }

  // Computes shares[sg][head][row]: the part of the scores that comes from the simdgroup's columns.
  static inline void share_scores(thread const simdgroup_half8x8 * keys, thread const simdgroup_half8x8 * q, memory m, ushort sg) {
    simdgroup_float8x8 s[R * H];
    UNROLL for (uint i = 0; i < R * H; ++i) s[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    UNROLL for (uint t = 0; t < TERMS; ++t) multiply_matrix<R, H, KEYS>(s, H, keys, KEYS, q + t * KEYS * H, H);
    UNROLL for (uint i = 0; i < R; ++i) {
      UNROLL for (uint h = 0; h < H; ++h) simdgroup_store(s[i * H + h], m.shares + sg * SHARES + 8u * (h * SHARE_ROW + i), SHARE_ROW, 0, true);
    }
  }

  // The largest value, and the sum, over the TILE lanes of one head.
  static inline float head_max(float v) {
    UNROLL for (ushort d = 1; d < TILE; d *= 2) v = max(v, simd_shuffle_xor(v, d));
    return v;
  }
  static inline float head_sum(float v) {
    UNROLL for (ushort d = 1; d < TILE; d *= 2) v += simd_shuffle_xor(v, d);
    return v;
  }

  // The head of a lane in turn k of softmax. It may be beyond the last head.
  static inline uint own_head(uint k, ushort sg, ushort lane) { return ((k * SIMDGROUPS + sg) * 32u + lane) / TILE; }

  // Turns the scores of the simdgroup's own heads for the tile's rows into weights. `seen` says for each turn
  // which rows count. A lane's sum is over its own rows. Each step is done for all turns before the next step,
  // so that turns do not wait for each other.
  template <typename S>
  static inline void softmax(memory m, thread const S & seen, bool first, thread float * reference, thread float * sum, ushort sg, ushort lane) {
    const uint t = lane % TILE;
    float s[TURNS], shrink[TURNS];
    bool beyond = false; // ln 2^15 above its reference a weight could be more than half's 65504
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      const uint h = min(own_head(k, sg, lane), 8u * H - 1u);
      s[k] = 0.0f;
      UNROLL for (uint i = 0; i < SIMDGROUPS; ++i) s[k] += m.shares[i * SHARES + h * SHARE_ROW + t];
      s[k] = t < rows_seen(seen, k) ? s[k] * score_scale(seen, k) : -1e30f;
      shrink[k] = 1.0f;
      beyond = beyond || s[k] > reference[k] + 10.397f;
    }
    if (simd_any(beyond)) {
      float next[TURNS]; // ln 2^4 below the largest: halves reach down to 2^-28 of its weight, and up to 2^11 times as much
      UNROLL for (uint k = 0; k < TURNS; ++k) {
        const float top = head_max(s[k]);
        next[k] = top > reference[k] + 10.397f ? top - 2.772f : reference[k];
      }
      UNROLL for (uint k = 0; k < TURNS; ++k) {
        if (!first) shrink[k] = fast::exp(reference[k] - next[k]); // e^0 where it stays
        reference[k] = next[k];
      }
    }
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      const uint h = own_head(k, sg, lane);
      const float e = fast::exp(s[k] - reference[k]); // it becomes a half
      const half weight = half(t < rows_seen(seen, k) ? e : 0.0f);
      sum[k] = fma(sum[k], shrink[k], float(weight));
      if (h < HEADS) {
        m.weights[h * WEIGHT_ROW + t] = weight;
        if (t < 8u) m.shrink[h * 8u + t] = t == h % 8u ? shrink[k] : 0.0f;
      }
    }
  }

  // Adds up the sums of a head's lanes, and stores their inverses. After a barrier all simdgroups multiply by these.
  static inline void add_sums(memory m, thread float * sum, ushort sg, ushort lane) {
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      const uint h = own_head(k, sg, lane);
      sum[k] = head_sum(sum[k]);
      if (h < HEADS && lane % TILE == 0u) m.inverse[h] = sum[k] > 0.0f ? 1.0f / sum[k] : 0.0f;
    }
  }

  // Adds weights times values to o[head block][column block].
  static inline void add_values(thread const simdgroup_half8x8 * values, memory m, thread simdgroup_float8x8 * o, ushort lane) {
    simdgroup_half8x8 weights[H * R];
    load_blocks<false, H, R>(weights, m.weights, WEIGHT_ROW, lane);
    bool shrinks = false;
    for (uint h = lane; h < HEADS; h += 32u) shrinks = shrinks || m.shrink[h * 8u + h % 8u] != 1.0f;
    if (simd_any(shrinks)) {
      UNROLL for (uint h = 0; h < H; ++h) scale_rows<VALUES>(o + h * VALUES, m.shrink + 64u * h);
    }
    multiply_matrix<H, VALUES, R>(o, VALUES, weights, R, values, VALUES);
  }

  // Stores (m, l) of the simdgroup's own heads: m is the reference.
  static inline void store_ml(thread const float * reference, thread const float * sum, device float * ml, ushort sg, ushort lane) {
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      const uint h = own_head(k, sg, lane);
      if (h < HEADS && lane % TILE == 0u) {
        ml[2u * h] = reference[k];
        ml[2u * h + 1u] = sum[k];
      }
    }
  }

  // Divides the simdgroup's columns and stores them to out[HEADS][LAT].
  template <typename A>
  static inline void store(thread const simdgroup_float8x8 * o, memory m, device A * out, ushort sg, ushort lane) {
    const uint blocks = LAT % (8u * SIMDGROUPS) == 0u ? uint(VALUES) : min(uint(VALUES), max(LAT / 8u, sg * VALUES) - sg * VALUES);
    UNROLL for (uint h = 0; h < H; ++h) {
      UNROLL for (uint j = 0; j < VALUES; j += AT_ONCE) {
        store_scaled<AT_ONCE>(o + h * VALUES + j, max(blocks, j) - j, HEADS - 8u * h, m.inverse + 8u * h, m.shares + sg * SHARES,
                              out + 8u * h * LAT + column(j, sg), LAT, lane);
      }
    }
  }

  // Sets sums to zero, and the weights of heads beyond the last one in its block.
  static inline void begin(memory m, thread simdgroup_float8x8 * o, thread float * reference, thread float * sum, ushort sg, ushort lane) {
    UNROLL for (uint i = 0; i < VALUES * H; ++i) o[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      reference[k] = -1e30f;
      sum[k] = 0.0f;
    }
    for (uint i = HEADS * WEIGHT_ROW + sg * 32u + lane; i < 8u * H * WEIGHT_ROW; i += SIMDGROUPS * 32u) m.weights[i] = half(0.0f);
    for (uint i = HEADS * 8u + sg * 32u + lane; i < 64u * H; i += SIMDGROUPS * 32u) m.shrink[i] = 0.0f;
  }

  // Attends to rows [from, to). The n rows of the first tile are already in keys and values; `tile` points to
  // them in the cache. `following` is the page after theirs. ALL: these are all rows, so the barrier of the
  // last tile is used for the sums, too.
  template <bool ALL, typename S>
  static inline void walk(S seen, device const uchar * cache, device const uint * pages, rows_t tile, uint following, uint from, uint n, uint to, uint nkv,
                          thread loads & next, thread simdgroup_half8x8 * keys, thread simdgroup_half8x8 * values, thread const simdgroup_half8x8 * q, memory m,
                          thread simdgroup_float8x8 * o, thread float * reference, thread float * sum, ushort sg, ushort lane) {
    const uint last = (to - 1u) / PAGE_ROWS;
    for (uint at = from; at < to;) {
      const uint present = n, behind = at + n; // n rows of the tile are in registers
      const bool more = behind < to;
      if (more) {
        cache_t::skip(tile, n);
        if (behind % PAGE_ROWS == 0u) {
          tile = cache_t::at(cache, following, 0);
          following = pages[min(behind / PAGE_ROWS + 1u, last)];
        }
        n = min(uint(TILE), to - behind);
        load_rows<true, true>(tile, n, nkv - 1u - behind, next, sg, lane);
        load_scales<true, true>(tile, n, nkv - 1u - behind, next, sg, lane);
      }
      share_scores(keys, q, m, sg);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      look(seen, at, present);
      softmax(m, seen, at == from, reference, sum, sg, lane);
      if (ALL && !more) add_sums(m, sum, sg, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      add_values(values, m, o, lane);
      if (more) form_rows(next, uint(TILE), m, keys, values, sg, lane); // always a whole tile, because a branch would slow down every tile
      at = behind;
    }
  }

  // The number of rows, from `from` on, that earlier replays have stored.
  static inline uint older(uint from, uint nkv) {
    if (NEW <= 1u) return nkv - 1u - from;
    return nkv > from + NEW ? nkv - from - NEW : 0u;
  }

  // Attends to rows [from, to), a non-empty range. All but the newest rows were stored by earlier replays, so
  // their loads start before GRID_WAIT. The loads of queries start before rows are turned into blocks.
  template <typename Q, typename A>
  static inline void attend(device const uchar * cache, device const uint * pages, uint from, uint to, uint nkv, Q q_abs, uint abs_stride, Q q_pe, uint pe_stride, float scale,
                         device A * out, device float * ml, threadgroup float * scratch, ushort sg, ushort lane) {
    const memory m = in(scratch);
    simdgroup_half8x8 keys[R * KEYS], values[R * VALUES], q[KEYS * TERMS * H];
    simdgroup_float8x8 o[VALUES * H];
    float reference[TURNS], sum[TURNS];
    begin(m, o, reference, sum, sg, lane);
    loads next = {};
    float left[H * QUERY_LOADS * 4u];
    // A page has whole tiles, so a tile lies in one page. The number of the next page is loaded one page ahead,
    // so that no tile waits for it.
    const uint last = (to - 1u) / PAGE_ROWS;
    rows_t tile = cache_t::at(cache, pages[from / PAGE_ROWS], from % PAGE_ROWS);
    uint following = pages[min(from / PAGE_ROWS + 1u, last)];
    uint n = min(TILE - from % TILE, to - from);
    const uint there = older(from, nkv);
    if (EARLY) {
      load_rows<true, false>(tile, n, there, next, sg, lane);
      load_scales<true, false>(tile, n, there, next, sg, lane);
    }
    GRID_WAIT;
    load_queries(q_abs, abs_stride, q_pe, pe_stride, left, sg, lane);
    if (!EARLY || there < to - from + cache_t::NEIGHBOURS) {
      load_rows<!EARLY, true>(tile, n, there, next, sg, lane);
      load_scales<!EARLY, true>(tile, n, there, next, sg, lane);
    }
    if (from + n == to) LAUNCH_DEPENDENTS; // no rows are left to load that weights could delay
    form_rows(next, n, m, keys, values, sg, lane);
    form_queries(left, m, q, sg, lane);
    walk<true>(for_all{n, scale}, cache, pages, tile, following, from, n, to, nkv, next, keys, values, q, m, o, reference, sum, sg, lane);
    LAUNCH_DEPENDENTS;
    store(o, m, out, sg, lane);
    store_ml(reference, sum, ml, sg, lane);
  }
};
