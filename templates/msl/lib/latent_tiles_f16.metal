template <uint W>
struct cached_eight<f16, W> {
  enum : uint { TERMS = 1 };
  sixteen_bytes b;

  static inline void begin_cached(thread cached_eight & e, threadgroup half * to, typename cache<f16, W>::rows r, uint row, uint column, bool is_there) {
    sixteen_bytes::begin_copy(e.b, (threadgroup uint4 *)to, (device const uint4 *)(r.p + row * W + (is_there ? column : 0u)), is_there ? 16u : 0u);
  }
  template <uint APART>
  static inline void end_cached(thread const cached_eight & e, threadgroup half * to, bool) { sixteen_bytes::end_copy(e.b, (threadgroup uint4 *)to); }
};
