// Keys and values on devices whose copies pass through registers, see part_product.metal: simdgroups with at
// most 16 matrices of results, and tiles of 32 columns of keys, or of 16 rows of a page.

// The rows of a page as inputs. Rows beyond the last one repeat it. Caches of halves and of quantised rows
// are multiplied as halves, caches of floats as floats.
template <typename K> struct multiplied_as { typedef half type; };
template <> struct multiplied_as<f32> { typedef float type; };

template <typename K, uint W>
struct cached_rows {
  typedef typename multiplied_as<K>::type element;
  typename cache<K, W>::rows page;
  uint first, last;
  static inline uint offset_of(cached_rows x, uint t) { return min(x.first + t, x.last); }
};

template <typename K, uint W>
struct loaded_eight<cached_rows<K, W>> {
  typename cache<K, W>::template columns<8> c;
  static inline void fetch(thread loaded_eight & l, cached_rows<K, W> x, uint row, uint column, uint n) {
    l.c = {};
    if (n == 0u) return;
    cache<K, W>::fetch_columns(l.c, x.page, row, column);
    cache<K, W>::fetch_scale(l.c, x.page, row, column);
  }
  template <uint>
  static inline void keep(thread const loaded_eight & l, threadgroup half * to) { cache<K, W>::write_halves(l.c, to); }
};
template <uint W>
struct loaded_eight<cached_rows<f32, W>> {
  eight_inputs<float> e;
  static inline void fetch(thread loaded_eight & l, cached_rows<f32, W> x, uint row, uint column, uint n) {
    if (n == 0u) eight_inputs<float>::none(l.e);
    else eight_inputs<float>::load(l.e, x.page.p + row * W + column);
  }
  template <uint N>
  static inline void keep(thread const loaded_eight & l, threadgroup float * to) { operand<float>::template put<N>(to, l.e); }
};

// Values: a simdgroup multiplies 32 columns by a fourth of a page's rows. With half a page a thread had no
// registers left for addresses.
template <typename T, typename K, uint LAT, uint PE, uint DIM, typename A>
struct part_value_maker {
  enum : uint { PAGES = 1, THREADS = 128, ROWS = 16, R = 4, N = ROWS / 8u };
  typedef cached_rows<K, LAT + PE> inputs_t;
  typedef typename inputs_t::element X;
  typedef weight_step<T, LAT, R> weights_t;
  typedef part_product<LAT, ROWS, 1, THREADS, weights_t, no_step, inputs_t> product_t;
  device const uchar * matrix;
  uint first; // of the simdgroup's columns

  static inline void begin_maker(thread part_value_maker & m, device const uchar * matrix, uint first, uint, ushort sg, ushort) {
    m.matrix = matrix;
    m.first = first + sg * 32u;
  }

  static inline void make_pages(thread part_value_maker & m, head_pages<A> p, some_pages<PAGES> pages, threadgroup float * scratch, uint any_tid, ushort sg, ushort lane) {
    const uint tid = simd_shuffle(any_tid, lane); // the same value, but new to the compiler, which so keeps no indices from page to page
    threadgroup X * tile = (threadgroup X *)scratch;
    threadgroup X * staged = tile + ROWS * product_t::ROW + sg * (8u * product_t::STAGED * product_t::WEIGHT_ROW);
    device A * to = p.heads + ulong(pages.number[0]) * p.elements + p.at;
    for (uint from = 0; from < PAGE_ROWS; from += ROWS) {
      weights_t w;
      weights_t::begin(w, m.matrix, m.first, DIM - 1u, (threadgroup uchar *)scratch, lane);
      weights_t::fetch_step(w, 0u, lane);
      no_step none;
      typename product_t::shares s;
      product_t::begin_steps(s, inputs_t{cache<K, LAT + PE>::at(p.cache, pages.number[0], 0u), from, max(pages.rows[0], 1u) - 1u}, 0u, tid, lane);
      simdgroup_float8x8 d[R * N];
      UNROLL for (uint i = 0; i < R * N; ++i) d[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      product_t::multiply_steps(w, none, s, tile, staged, d, 0u, tid, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup); // results pass through the tile
      UNROLL for (uint r = 0; r < R; ++r) {
        const uint column = m.first + 8u * r;
        store_blocks<N>(d + r * N, scratch + sg * (8u * (ROWS + 4u)), to + column * PAGE_ROWS + from, PAGE_ROWS, column < DIM ? 8u : 0u, ROWS, lane);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup); // the next tile overwrites the results
    }
  }
};

// Keys: the file has W_UK transposed, [LAT][DIM], as absorbed queries need it, so sums are over its rows. The
// threadgroup decodes ROWS rows of 64 columns to memory. A simdgroup has 32 of the columns, and half a page.
template <typename T, typename K, uint LAT, uint PE, uint DIM, typename A>
struct part_key_maker {
  typedef cached_rows<K, LAT + PE> inputs_t;
  typedef typename inputs_t::element X;
  typedef loaded_eight<inputs_t> eight_t;
  typedef operand<X> operand_t;
  typedef typename operand_t::matrix matrix_t;
  enum : uint { PAGES = 1, THREADS = 128, ROWS = 64u / sizeof(X), M = PAGE_ROWS / 16u, N = 4, STEPS = (LAT + ROWS - 1u) / ROWS };
  enum : uint { TILE_ROW = ROWS + 16u / sizeof(X), WEIGHT_ROW = 64u + 16u / sizeof(X), OF_ROW = ROWS / 8u, APART = THREADS / OF_ROW, LOADS = PAGE_ROWS / APART };
  enum : uint { DECODERS = THREADS / ROWS, EIGHTS = 8u / DECODERS }; // of a row of weights, and the eights of each
  enum : bool { LATE = sizeof(typename T::run) > 64u }; // weights of floats take 32 registers: nothing is fetched before it is needed
  device const uchar * matrix;
  uint first, rotates;
  uint lane_of_four, nth; // whose eights of a step's row the lane decodes, and from which on
  typename T::run w;

  // 64 of a step's 128 columns are all columns of two of four lanes, or two eights of each lane, by the format.
  static inline void begin_maker(thread part_key_maker & m, device const uchar * matrix, uint first, uint head, ushort sg, ushort lane) {
    const uint upper = first / 64u % 2u, eight = lane % DECODERS * EIGHTS;
    const bool whole = T::column(0u, 2u) < 64u;
    m.matrix = matrix;
    m.first = first;
    m.rotates = head == 0u && first == 0u ? 1u : 0u;
    m.lane_of_four = whole ? 2u * upper + eight / 4u : eight / 2u;
    m.nth = whole ? eight % 4u : 2u * upper + eight % 2u;
  }
  static inline void fetch_weights(thread part_key_maker & m, uint s, uint tid) {
    const uint row = min(s * ROWS + tid / DECODERS, LAT - 1u);
    T::template fetch_run<DIM>(m.matrix + ulong(row) * T::row_bytes(DIM), m.first / STEP, m.lane_of_four, m.w);
  }
  template <uint PIECE>
  static inline void put_weights(thread const part_key_maker & m, threadgroup X * weights, uint tid) {
    UNROLL for (uint j = 0; j < 4u; ++j) {
      if (j / EIGHTS * EIGHTS != m.nth) continue;
      threadgroup X * to = weights + tid / DECODERS * WEIGHT_ROW + T::column(m.lane_of_four, j) % 64u;
      UNROLL for (uint u = 0; u < 2u; ++u) *(threadgroup typename operand_t::four *)(to + 4u * u) = operand_t::template of<T, PIECE>(m.w, j, u);
    }
  }
  static inline void fetch_rows(thread eight_t * e, inputs_t x, uint s, uint tid) {
    const uint column = s * ROWS + tid % OF_ROW * 8u;
    UNROLL for (uint k = 0; k < LOADS; ++k) eight_t::fetch(e[k], x, inputs_t::offset_of(x, tid / OF_ROW + k * APART), column, column < LAT ? 8u : 0u);
  }
  static inline void put_rows(thread const eight_t * e, threadgroup X * tile, uint tid) {
    UNROLL for (uint k = 0; k < LOADS; ++k) eight_t::template keep<8>(e[k], tile + (tid / OF_ROW + k * APART) * TILE_ROW + tid % OF_ROW * 8u);
  }

  // d += latent rows · weights, for the simdgroup's rows and columns.
  static inline void multiply_rows(thread simdgroup_float8x8 * d, threadgroup const X * tile, threadgroup const X * weights, ushort sg) {
    UNROLL for (uint c = 0; c < ROWS; c += 8u) {
      matrix_t a[M];
      UNROLL for (uint i = 0; i < M; ++i) simdgroup_load(a[i], tile + (sg / 2u * (8u * M) + 8u * i) * TILE_ROW + c, TILE_ROW);
      UNROLL for (uint n = 0; n < N; ++n) {
        matrix_t b;
        simdgroup_load(b, weights + c * WEIGHT_ROW + sg % 2u * 32u + 8u * n, WEIGHT_ROW);
        UNROLL for (uint i = 0; i < M; ++i) simdgroup_multiply_accumulate(d[i * N + n], a[i], b, d[i * N + n]);
      }
    }
  }

  // Copies the rotated columns of a page, which all heads share.
  static inline void copy_rotated(inputs_t x, device A * to, uint tid) {
    for (uint i = tid; i < PAGE_ROWS * PE / 8u; i += THREADS) {
      float v[8];
      UNROLL for (uint e = 0; e < 8u; ++e) v[e] = cache<K, LAT + PE>::get(x.page, inputs_t::offset_of(x, i / (PE / 8u)) * (LAT + PE) + LAT + i % (PE / 8u) * 8u + e);
      store_eight(to + 8u * i, v);
    }
  }

  static inline void make_pages(thread part_key_maker & m, head_pages<A> p, some_pages<PAGES> pages, threadgroup float * scratch, uint any_tid, ushort sg, ushort lane) {
    const uint tid = simd_shuffle(any_tid, lane); // as for values
    enum : bool { TWO = two_pieces<X, T>::VALUE };
    threadgroup X * tile = (threadgroup X *)scratch;
    threadgroup X * weights = tile + PAGE_ROWS * TILE_ROW;
    device A * page = p.heads + ulong(pages.number[0]) * p.elements;
    const inputs_t x{cache<K, LAT + PE>::at(p.cache, pages.number[0], 0u), 0u, max(pages.rows[0], 1u) - 1u};
    eight_t e[LOADS];
    if (!LATE) {
      fetch_rows(e, x, 0u, tid);
      fetch_weights(m, 0u, tid);
    }
    if (m.rotates > 0u) copy_rotated(x, page + p.rotated, tid);
    simdgroup_float8x8 d[M * N];
    UNROLL for (uint i = 0; i < M * N; ++i) d[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint s = 0; s < STEPS; ++s) {
      if (LATE) fetch_rows(e, x, s, tid);
      threadgroup_barrier(mem_flags::mem_threadgroup); // all have multiplied the step before
      put_rows(e, tile, tid);
      if (LATE) fetch_weights(m, s, tid);
      put_weights<piece::WHOLE>(m, weights, tid);
      if (!TWO && !LATE) fetch_weights(m, s + 1u, tid);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (!LATE) fetch_rows(e, x, s + 1u, tid);
      multiply_rows(d, tile, weights, sg);
      if (TWO) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (LATE) fetch_weights(m, s, tid);
        put_weights<piece::REST>(m, weights, tid);
        if (!LATE) fetch_weights(m, s + 1u, tid);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        multiply_rows(d, tile, weights, sg);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // results pass through the tile
    const uint column = m.first + sg % 2u * 32u;
    UNROLL for (uint i = 0; i < M; ++i) {
      device A * to = page + p.at + (sg / 2u * (8u * M) + 8u * i) * DIM + column;
      store_blocks<N>(d + i * N, scratch + sg * (8u * (8u * N + 4u)), to, DIM, 8u, column < DIM ? DIM - column : 0u, lane);
    }
  }
};
