// A thread's share of BLOCKS blocks of latent columns of the rows of pages, which are copied to a tile with
// rows of ROW halves. There are two tiles: with halves one is multiplied while the other is filled, with
// floats they hold the two terms. ORDER gives the order of the columns in step s.
template <typename T, uint LAT, uint PE, uint PAGES, uint BLOCKS, uint ROW, uint THREADS, typename ORDER>
struct latent_copies {
  typedef cache<T, LAT + PE> cache_t;
  typedef cached_eight<T, LAT + PE> eight_t;
  enum : uint { TERMS = eight_t::TERMS, ROWS = THREADS / BLOCKS, EIGHTS = PAGES * PAGE_ROWS / ROWS, SIZE = PAGES * PAGE_ROWS * ROW };
  typename cache_t::rows page[PAGES];
  uint last[PAGES]; // the rest of a page repeats the last row
  eight_t e[EIGHTS];

  static inline void choose(thread latent_copies & l, device const uchar * cache, some_pages<PAGES> pages) {
    UNROLL for (uint i = 0; i < PAGES; ++i) {
      l.page[i] = cache_t::at(cache, pages.number[i], 0);
      l.last[i] = max(pages.rows[i], 1u) - 1u;
    }
  }
  static inline threadgroup half * tile_of(threadgroup half * tiles, uint s) { return tiles + (TERMS == 1u ? s % 2u * SIZE : 0u); }
  static inline void begin_latents(thread latent_copies & l, threadgroup half * tile, uint s, uint tid) {
    const uint row = tid / BLOCKS, column = ORDER::latent_column(s, tid % BLOCKS);
    threadgroup half * to = tile + row * ROW + tid % BLOCKS * 8u;
    UNROLL for (uint k = 0; k < EIGHTS; ++k) {
      const uint p = k * ROWS / PAGE_ROWS;
      eight_t::begin_cached(l.e[k], to + k * (ROWS * ROW), l.page[p], min(row + k * ROWS % PAGE_ROWS, l.last[p]), column, column < LAT);
    }
  }
  static inline void end_latents(thread const latent_copies & l, threadgroup half * tile, uint s, uint tid) {
    const uint column = ORDER::latent_column(s, tid % BLOCKS);
    threadgroup half * to = tile + tid / BLOCKS * ROW + tid % BLOCKS * 8u;
    UNROLL for (uint k = 0; k < EIGHTS; ++k) eight_t::template end_cached<SIZE>(l.e[k], to + k * (ROWS * ROW), column < LAT);
  }
};
