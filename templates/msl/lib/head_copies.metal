// Copies of keys and values of heads to threadgroup memory.

// Eight neighbouring elements, split into TERMS halves, which are APART in memory.
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
