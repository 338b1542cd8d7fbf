// The inputs of expanding heads: the pages that rows attend to, and tiles of their latent rows.

// For the block table of row r: the largest number of cache rows that a row attends to in it, the first row
// with this table, and the next row after r with another table. The threads share the rows, and each loads up
// to eight at once.
struct attended { uint table, nkv, first, next; };

template <uint WIDTH, uint THREADS>
static inline attended attended_at(constant Row * rows, uint r, threadgroup uint * shares, uint tid, ushort sg, ushort lane) {
  enum : uint { EACH = (WIDTH + THREADS - 1u) / THREADS, ONCE = EACH < 8u ? EACH : 8u };
  const uint4 row = whole(rows[r]);
  attended a{row.w, 0u, WIDTH, WIDTH};
  for (uint from = tid; from < WIDTH; from += ONCE * THREADS) {
    uint4 others[ONCE];
    UNROLL for (uint k = 0; k < ONCE; ++k) others[k] = whole(rows[min(from + k * THREADS, WIDTH - 1u)]);
    UNROLL for (uint k = 0; k < ONCE; ++k) {
      const uint i = min(from + k * THREADS, WIDTH - 1u);
      const bool same = others[k].z > 0u && others[k].w == row.w;
      a.nkv = same ? max(a.nkv, others[k].z) : a.nkv;
      a.first = same ? min(a.first, i) : a.first;
      a.next = others[k].z > 0u && !same && i > r ? min(a.next, i) : a.next;
    }
  }
  uint4 own = uint4(0u);
  own.x = simd_max(a.nkv);
  own.y = simd_min(a.first);
  own.z = simd_min(a.next);
  if (lane == 0) *(threadgroup uint4 *)(shares + 4u * sg) = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  UNROLL for (uint i = 0; i < THREADS / 32u; ++i) {
    const uint4 share = *(threadgroup const uint4 *)(shares + 4u * i);
    a.nkv = max(a.nkv, share.x);
    a.first = min(a.first, share.y);
    a.next = min(a.next, share.z);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup); // all have read the shares
  return a;
}

// Eight columns of a cache row that are copied to a tile of halves. Floats are split into the terms of
// eight_inputs, which are APART in the tile. Columns that do not exist become 0.
template <typename T, uint W>
struct cached_eight {
  enum : uint { TERMS = 1 };
  typename cache<T, W>::template columns<8> c;

  static inline void begin_cached(thread cached_eight & e, threadgroup half *, typename cache<T, W>::rows r, uint row, uint column, bool is_there) {
    if (!is_there) return;
    cache<T, W>::fetch_columns(e.c, r, row, column);
    cache<T, W>::fetch_scale(e.c, r, row, column);
  }
  template <uint APART>
  static inline void end_cached(thread const cached_eight & e, threadgroup half * to, bool is_there) {
    if (is_there) cache<T, W>::write_halves(e.c, to);
    else *(threadgroup uint4 *)to = uint4(0u);
  }
};
