template <uint W>
struct cached_eight<f32, W> {
  enum : uint { TERMS = 2 };
  eight_inputs<float> e;

  static inline void begin_cached(thread cached_eight & c, threadgroup half *, typename cache<f32, W>::rows r, uint row, uint column, bool is_there) {
    if (is_there) eight_inputs<float>::load(c.e, r.p + row * W + column);
  }
  template <uint APART>
  static inline void end_cached(thread const cached_eight & c, threadgroup half * to, bool is_there) {
    *(threadgroup uint4 *)to = is_there ? eight_inputs<float>::halves<0>(c.e) : uint4(0u);
    *(threadgroup uint4 *)(to + APART) = is_there ? eight_inputs<float>::halves<1>(c.e) : uint4(0u);
  }
};
