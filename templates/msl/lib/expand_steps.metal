// Values: a simdgroup makes 32 columns for a page's rows, like a product of weights and inputs, and stores
// the rows of a column next to each other.
template <typename T, typename K, uint LAT, uint PE, uint DIM, typename A>
struct value_maker {
  enum : uint { PAGES = 1, THREADS = 128, N = PAGE_ROWS / 8u, R = 4, STEPS = (LAT + STEP - 1u) / STEP };
  // A tile has half a step: eights 0 and 1, or 2 and 3, of four lanes.
  struct places {
    enum : uint { ROW = 72 };
    static inline uint place(uint p, uint j) { return 16u * p + j % 2u * 8u; }
    static inline uint latent_column(uint s, uint block) { return s / 2u * STEP + T::column(block / 2u, s % 2u * 2u + block % 2u); }
  };
  typedef latent_copies<K, LAT, PE, PAGES, 8, places::ROW, THREADS, places> copies_t;
  device const uchar * row[R];
  typename T::run w[R];
  uint first; // of the simdgroup's columns

  static inline void begin_maker(thread value_maker & m, device const uchar * matrix, uint first, uint, ushort sg, ushort lane) {
    m.first = first + sg * 32u;
    UNROLL for (uint r = 0; r < R; ++r) m.row[r] = matrix + ulong(min(m.first + lane / 4u + 8u * r, DIM - 1u)) * T::row_bytes(LAT);
    fetch_weights(m, 0u, lane);
  }
  static inline void fetch_weights(thread value_maker & m, uint s, ushort lane) {
    UNROLL for (uint r = 0; r < R; ++r) T::template fetch_run<LAT>(m.row[r], s, lane % 4u, m.w[r]);
  }

  // d += weights · a term of half a step of latent columns.
  template <uint PIECE, uint HALF>
  static inline void multiply_half(thread const value_maker & m, thread simdgroup_float8x8 * d, threadgroup const half * tile, threadgroup half * staged, ushort lane) {
    UNROLL for (uint j = 2u * HALF; j < 2u * HALF + 2u; ++j) {
      half4 v[2u * R];
      UNROLL for (uint i = 0; i < 2u * R; ++i) v[i] = piece_of<T, PIECE>(m.w[i / 2u], j, i % 2u);
      multiply_eights<places, R, N>(d, v, tile, j, staged, lane);
    }
  }

  template <uint HALF>
  static inline void half_a_step(thread value_maker & m, thread copies_t & copies, thread simdgroup_float8x8 * d, threadgroup half * tiles, uint step, uint tid, ushort sg, ushort lane) {
    const uint s = 2u * step + HALF;
    threadgroup half * staged = tiles + 2u * copies_t::SIZE + sg * (16u * STAGED_ROW);
    threadgroup half * tile = copies_t::tile_of(tiles, HALF);
    if (copies_t::TERMS == 2u) threadgroup_barrier(mem_flags::mem_threadgroup); // all have multiplied the columns before
    copies_t::end_latents(copies, tile, s, tid);
    COPIES_LAND;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (s + 1u < 2u * STEPS) copies_t::begin_latents(copies, copies_t::tile_of(tiles, 1u - HALF), s + 1u, tid);
    if (copies_t::TERMS == 1u) {
      multiply_half<piece::WHOLE, HALF>(m, d, tile, staged, lane);
      if (weights_of<T>::TWO) multiply_half<piece::REST, HALF>(m, d, tile, staged, lane);
    } else {
      multiply_half<piece::GROWN, HALF>(m, d, tile, staged, lane);
      multiply_half<piece::GROWN_REST, HALF>(m, d, tile, staged, lane);
      multiply_half<piece::SHRUNK, HALF>(m, d, tile + copies_t::SIZE, staged, lane);
    }
    if (HALF == 1u) fetch_weights(m, step + 1u < STEPS ? step + 1u : 0u, lane); // in flight with the next columns
  }

  static inline void make_pages(thread value_maker & m, head_pages<A> p, some_pages<PAGES> pages, threadgroup float * scratch, uint tid, ushort sg, ushort lane) {
    threadgroup half * tiles = (threadgroup half *)scratch;
    simdgroup_float8x8 d[R * N];
    UNROLL for (uint i = 0; i < R * N; ++i) d[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    copies_t copies;
    copies_t::choose(copies, p.cache, pages);
    copies_t::begin_latents(copies, tiles, 0u, tid);
    for (uint s = 0; s < STEPS; ++s) {
      half_a_step<0>(m, copies, d, tiles, s, tid, sg, lane);
      half_a_step<1>(m, copies, d, tiles, s, tid, sg, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // results pass through the tiles
    device A * to = p.heads + ulong(pages.number[0]) * p.elements + p.at;
    UNROLL for (uint r = 0; r < R; ++r) {
      const uint column = m.first + 8u * r;
      store_blocks<N>(d + r * N, scratch + sg * (8u * (PAGE_ROWS + 4u)), to + column * PAGE_ROWS, PAGE_ROWS, column < DIM ? 8u : 0u, PAGE_ROWS, lane);
    }
  }
};

// Keys: the file has W_UK transposed, [LAT][DIM], as absorbed queries need it, so sums are over its rows. The
// threadgroup decodes 32 rows of 64 columns to memory, once for two pages. A simdgroup has 32 of the columns,
// and one page. Weights alternate between two tiles, so that one barrier per tile suffices.
template <typename T, typename K, uint LAT, uint PE, uint DIM, typename A>
struct key_maker {
  enum : uint { PAGES = 2, THREADS = 128, M = PAGE_ROWS / 8u, N = 4, ROWS = 32, STEPS = (LAT + ROWS - 1u) / ROWS, TILE_ROW = ROWS + 8u, WEIGHT_ROW = 72 };
  struct in_order {
    static inline uint latent_column(uint s, uint block) { return s * ROWS + 8u * block; }
  };
  typedef latent_copies<K, LAT, PE, PAGES, ROWS / 8u, TILE_ROW, THREADS, in_order> copies_t;
  device const uchar * matrix;
  uint first, rotates;
  uint row, lane_of_four, second; // of a step's weights: the lane's row, and which two eights it decodes of whose
  typename T::run w;

  // 64 of a step's 128 columns are all columns of two of four lanes, or two eights of each lane, by the format.
  static inline void begin_maker(thread key_maker & m, device const uchar * matrix, uint first, uint head, ushort sg, ushort lane) {
    const uint upper = first / 64u % 2u;
    const bool whole = T::column(0u, 2u) < 64u;
    m.matrix = matrix;
    m.first = first;
    m.rotates = head == 0u && first == 0u ? 1u : 0u;
    m.row = whole ? sg / 2u * 16u + lane / 2u : sg * 8u + lane / 4u;
    m.lane_of_four = whole ? 2u * upper + lane % 2u : lane % 4u;
    m.second = whole ? sg % 2u : upper;
    fetch_weights(m, 0u);
  }
  static inline void fetch_weights(thread key_maker & m, uint s) {
    const uint row = min(s * ROWS + m.row, LAT - 1u);
    T::template fetch_run<DIM>(m.matrix + ulong(row) * T::row_bytes(DIM), m.first / STEP, m.lane_of_four, m.w);
  }
  template <uint PIECE, uint FROM>
  static inline void put_eights(thread const key_maker & m, threadgroup half * weights) {
    UNROLL for (uint i = 0; i < 4u; ++i) {
      const uint j = FROM + i / 2u;
      *(threadgroup half4 *)(weights + m.row * WEIGHT_ROW + T::column(m.lane_of_four, j) % 64u + i % 2u * 4u) = piece_of<T, PIECE>(m.w, j, i % 2u);
    }
  }

  // d += latent rows · weights, for the simdgroup's page and columns.
  static inline void multiply_rows(thread simdgroup_float8x8 * d, threadgroup const half * tile, threadgroup const half * weights, ushort sg, ushort lane) {
    UNROLL for (uint c = 0; c < ROWS; c += 16u) {
      simdgroup_half8x8 a[2u * M];
      UNROLL for (uint i = 0; i < M; i += 2u) load_four<false>(a + 2u * i, tile + (sg / 2u * PAGE_ROWS + 8u * i) * TILE_ROW + c, TILE_ROW, lane);
      UNROLL for (uint n = 0; n < N; n += 2u) {
        simdgroup_half8x8 b[4];
        load_four<true>(b, weights + c * WEIGHT_ROW + sg % 2u * 32u + 8u * n, WEIGHT_ROW, lane);
        multiply_matrix<M, 2, 2>(d + n, N, a, 2, b, 2);
      }
    }
  }

  // Decodes piece NTH of COUNT of a step's weights, and multiplies by it. ODD: the step is odd.
  template <uint ODD, uint PIECE, uint TERM, uint NTH, uint COUNT>
  static inline void multiply_piece(thread key_maker & m, thread copies_t & copies, thread simdgroup_float8x8 * d, threadgroup half * tiles, uint s, uint tid, ushort sg, ushort lane) {
    threadgroup half * weights = tiles + 2u * copies_t::SIZE + (ODD * COUNT + NTH) % 2u * (ROWS * WEIGHT_ROW);
    if (m.second == 0u) put_eights<PIECE, 0>(m, weights);
    else put_eights<PIECE, 2>(m, weights);
    if (NTH + 1u == COUNT) fetch_weights(m, s + 1u < STEPS ? s + 1u : 0u);
    if (NTH == 0u) COPIES_LAND;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (NTH == 0u && s + 1u < STEPS) copies_t::begin_latents(copies, copies_t::tile_of(tiles, 1u - ODD), s + 1u, tid);
    multiply_rows(d, copies_t::tile_of(tiles, ODD) + TERM * copies_t::SIZE, weights, sg, lane);
  }

  template <uint ODD>
  static inline void one_step(thread key_maker & m, thread copies_t & copies, thread simdgroup_float8x8 * d, threadgroup half * tiles, uint s, uint tid, ushort sg, ushort lane) {
    enum : uint { COUNT = weights_of<T>::TWO ? 2 : 1 };
    if (copies_t::TERMS == 2u) threadgroup_barrier(mem_flags::mem_threadgroup); // all have multiplied the columns before
    copies_t::end_latents(copies, copies_t::tile_of(tiles, ODD), s, tid);
    if (copies_t::TERMS == 1u) {
      multiply_piece<ODD, piece::WHOLE, 0, 0, COUNT>(m, copies, d, tiles, s, tid, sg, lane);
      if (COUNT == 2u) multiply_piece<ODD, piece::REST, 0, 1, 2>(m, copies, d, tiles, s, tid, sg, lane);
    } else {
      multiply_piece<ODD, piece::GROWN, 0, 0, 3>(m, copies, d, tiles, s, tid, sg, lane);
      multiply_piece<ODD, piece::GROWN_REST, 0, 1, 3>(m, copies, d, tiles, s, tid, sg, lane);
      multiply_piece<ODD, piece::SHRUNK, 1, 2, 3>(m, copies, d, tiles, s, tid, sg, lane);
    }
  }

  // Copies the rotated columns of a page, which all heads share.
  static inline void copy_rotated(typename cache<K, LAT + PE>::rows page, uint rows, device A * to, uint tid) {
    enum : uint { EIGHTS = PAGE_ROWS * PE / 8u };
    UNROLL for (uint k = 0; k < (EIGHTS + THREADS - 1u) / THREADS; ++k) {
      const uint i = tid + k * THREADS;
      float v[8];
      UNROLL for (uint e = 0; e < 8u && k * THREADS < EIGHTS; ++e) v[e] = cache<K, LAT + PE>::get(page, min(min(i, EIGHTS - 1u) / (PE / 8u), rows - 1u) * (LAT + PE) + LAT + i % (PE / 8u) * 8u + e);
      if (i < EIGHTS) store_eight(to + 8u * i, v);
    }
  }

  static inline void make_pages(thread key_maker & m, head_pages<A> p, some_pages<PAGES> pages, threadgroup float * scratch, uint tid, ushort sg, ushort lane) {
    threadgroup half * tiles = (threadgroup half *)scratch;
    simdgroup_float8x8 d[M * N];
    UNROLL for (uint i = 0; i < M * N; ++i) d[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    copies_t copies;
    copies_t::choose(copies, p.cache, pages);
    copies_t::begin_latents(copies, tiles, 0u, tid);
    UNROLL for (uint i = 0; i < PAGES; ++i) {
      if (m.rotates > 0u && pages.rows[i] > 0u) copy_rotated(copies.page[i], pages.rows[i], p.heads + ulong(pages.number[i]) * p.elements + p.rotated, tid);
    }
    for (uint s = 0; s < STEPS; s += 2u) {
      one_step<0>(m, copies, d, tiles, s, tid, sg, lane);
      if (s + 1u < STEPS) one_step<1>(m, copies, d, tiles, s + 1u, tid, sg, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // results pass through the tiles
    const uint own = sg / 2u, column = m.first + sg % 2u * 32u;
    device A * to = p.heads + ulong(own == 0u ? pages.number[0] : pages.number[1]) * p.elements + p.at;
    const uint height = (own == 0u ? pages.rows[0] : pages.rows[1]) > 0u ? 8u : 0u;
    UNROLL for (uint i = 0; i < M; ++i) {
      store_blocks<N>(d + i * N, scratch + sg * (8u * 36u), to + 8u * i * DIM + column, DIM, height, column < DIM ? DIM - column : 0u, lane);
    }
  }
};
