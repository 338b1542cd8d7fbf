// Expands the latent cache rows of all block tables of a prompt to keys and values of one head, a page at a
// time: products of the head's weights and the page's latent rows. This is done once for all rows of the
// prompt. Each query then needs a third of the products that it needs with latent rows.

static inline void store_eight(device half * p, thread const float * v) {
  uint4 bits;
  UNROLL for (uint i = 0; i < 4u; ++i) {
    half2 two;
    two.x = half(v[2u * i]);
    two.y = half(v[2u * i + 1u]);
    bits[i] = as_type<uint>(two);
  }
  *(device uint4 *)p = bits;
}
static inline void store_eight(device float * p, thread const float * v) {
  UNROLL for (uint i = 0; i < 2u; ++i) {
    float4 four;
    UNROLL for (uint j = 0; j < 4u; ++j) four[j] = v[4u * i + j];
    *(device float4 *)(p + 4u * i) = four;
  }
}

// Stores the first `height` of 8 rows of N neighbouring blocks through the simdgroup's memory: columns below
// `end`, a multiple of 8. Rows of `to` are `apart` elements apart.
template <uint N, typename A>
static inline void store_blocks(thread const simdgroup_float8x8 * d, threadgroup float * staged, device A * to, uint apart, uint height, uint end, ushort lane) {
  enum : uint { ROW = 8u * N + 4u };
  UNROLL for (uint n = 0; n < N; ++n) simdgroup_store(d[n], staged + 8u * n, ROW);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  UNROLL for (uint i = 0; i < 8u * N; i += 32u) {
    const uint r = (i + lane) / N, c = (i + lane) % N * 8u;
    if (r < height && c < end) {
      float v[8];
      UNROLL for (uint j = 0; j < 8u; ++j) v[j] = staged[r * ROW + c + j];
      store_eight(to + r * apart + c, v);
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

// The pages of expanded heads, and the threadgroup's share of them.
template <typename A>
struct head_pages {
  device const uchar * cache;
  device const uint * all_tables;
  constant Row * rows;
  device A * heads;
  uint max_pages, elements, at, rotated; // elements of a page, where the head's are in it, and what all heads share
  uint share, shares;
};

// Calls MAKER::make_pages for the threadgroup's pages.
template <uint WIDTH, typename MAKER, typename A>
static inline void each_page(thread MAKER & maker, head_pages<A> p, threadgroup float * scratch, uint tid, ushort sg, ushort lane) {
  enum : uint { PAGES = MAKER::PAGES };
  for (uint r = 0; r < WIDTH;) {
    const attended a = attended_at<WIDTH, MAKER::THREADS>(p.rows, r, (threadgroup uint *)scratch, tid, sg, lane);
    device const uint * table = p.all_tables + a.table * p.max_pages;
    const uint count = (a.nkv + PAGE_ROWS - 1u) / PAGE_ROWS;
    for (uint j = PAGES * p.share; a.first == r && j < count; j += PAGES * p.shares) {
      some_pages<PAGES> pages;
      UNROLL for (uint i = 0; i < PAGES; ++i) {
        pages.number[i] = table[min(j + i, count - 1u)];
        pages.rows[i] = j + i < count ? min(uint(PAGE_ROWS), a.nkv - (j + i) * PAGE_ROWS) : 0u;
      }
      MAKER::make_pages(maker, p, pages, scratch, tid, sg, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup); // the next page's tile comes where results were
    }
    r = a.next;
  }
}
