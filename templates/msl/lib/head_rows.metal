// What attention over expanded heads takes: queries, pages of heads, copies of them.

// Eight neighbouring elements on their way into terms of halves, which are APART in memory.
template <typename A> struct head_eight;
template <> struct head_eight<half> {
  enum : uint { TERMS = 1 };
  sixteen_bytes b;
  static inline void begin_eight(thread head_eight & e, threadgroup half * to, device const half * p) {
    sixteen_bytes::begin_copy(e.b, (threadgroup uint4 *)to, (device const uint4 *)p, 16u);
  }
  template <uint APART>
  static inline void end_eight(thread const head_eight & e, threadgroup half * to) { sixteen_bytes::end_copy(e.b, (threadgroup uint4 *)to); }
  template <uint TERM>
  static inline void put(threadgroup half * to, device const half * p) { *(threadgroup uint4 *)to = *(device const uint4 *)p; }
};
template <> struct head_eight<float> {
  enum : uint { TERMS = 2 };
  float4 v[2];
  static inline void begin_eight(thread head_eight & e, threadgroup half *, device const float * p) {
    e.v[0] = *(device const float4 *)p;
    e.v[1] = *(device const float4 *)(p + 4);
  }
  static inline half4 term(uint number, float4 v) {
    const half4 high = rounded(v);
    return number == 0u ? high : rounded(v - in_full(high));
  }
  template <uint APART>
  static inline void end_eight(thread const head_eight & e, threadgroup half * to) {
    UNROLL for (uint i = 0; i < 4u; ++i) *(threadgroup half4 *)(to + i / 2u * APART + i % 2u * 4u) = term(i / 2u, e.v[i % 2u]);
  }
  template <uint TERM>
  static inline void put(threadgroup half * to, device const float * p) {
    UNROLL for (uint i = 0; i < 2u; ++i) *(threadgroup half4 *)(to + 4u * i) = term(TERM, *(device const float4 *)(p + 4u * i));
  }
};

// Rows [from, end) have one block table, or are one dead row; nkv is the most that one of them attends to.
// Of up to SPAN rows, which are all loaded at once.
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

// The queries of one head, and where its results go.
template <typename A>
struct head_rows {
  constant Row * rows;
  device const A * q_nope, * q_pe;
  device A * out;
  uint nope_stride, pe_stride, out_stride; // from a row's to the next one's
  uint first;
};

// Pages of keys, [PAGE_ROWS][NOPE], of values, [V][PAGE_ROWS], and of what all heads share of the keys.
template <typename A>
struct head_cache {
  device const A * heads;
  device const uint * all_tables;
  uint max_pages, elements, keys, values, rotated;
};

// Where lanes know which elements of a block are theirs, a platform attends to a tile of halves without
// passing scores through memory, and places a row's columns as it likes. This one knows nothing.
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
