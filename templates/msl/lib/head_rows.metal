// The inputs of attention over expanded heads: queries, and pages of heads.
//
// Rows [from, end) have the same block table, or are one unused row; nkv is the largest number of cache rows
// that one of them attends to. alike_at looks at up to SPAN rows, which it loads at once.
struct alike { uint from, end, nkv, table; };
template <uint SPAN>
static inline alike alike_at(constant Row * rows, uint from, uint limit, ushort lane) {
  enum : uint { EACH = (SPAN + 31u) / 32u };
  const uint4 row = whole(rows[from]);
  alike a{from, limit, 0u, row.w};
  uint4 others[EACH];
  UNROLL for (uint k = 0; k < EACH; ++k) others[k] = whole(rows[min(from + lane + 32u * k, limit - 1u)]);
  UNROLL for (uint k = 0; k < EACH; ++k) {
    if (others[k].z == 0u || others[k].w != row.w) a.end = min(a.end, from + lane + 32u * k);
  }
  a.end = max(simd_min(a.end), from + 1u);
  UNROLL for (uint k = 0; k < EACH; ++k) {
    if (from + lane + 32u * k < a.end) a.nkv = max(a.nkv, others[k].z);
  }
  a.nkv = simd_max(a.nkv);
  return a;
}

// The queries and the results of one head.
template <typename A>
struct head_rows {
  constant Row * rows;
  device const A * q_nope, * q_pe;
  device A * out;
  uint nope_stride, pe_stride, out_stride; // from a row's to the next one's
  uint first;
};

// Pages of keys, [PAGE_ROWS][NOPE], of values, [V][PAGE_ROWS], and of rotated columns of keys, which all heads share.
template <typename A>
struct head_cache {
  device const A * heads;
  device const uint * all_tables;
  uint max_pages, elements, keys, values, rotated;
};
