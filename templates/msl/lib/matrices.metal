// Multiplication by one matrix, or by two matrices of one format, for which an input is read once. With
// different formats lanes have different columns; see products_apart. FIRST and COUNT, the range of eights,
// are template parameters because registers cannot be indexed by variables.
template <typename W, typename U> struct matrices { enum : bool { ALIKE = false }; };

template <typename T, uint COLS, uint R, uint TOKENS, uint ROOM>
struct matrices<weight_rows<T, COLS, R, TOKENS, ROOM>, no_weights> {
  typedef weight_rows<T, COLS, R, TOKENS, ROOM> W;
  typedef T format;
  enum : bool { TWO = weights_of<T>::TWO, ALIKE = true };
  template <typename LAYOUT, uint PIECE, uint N, uint FIRST, uint COUNT>
  static inline void multiply_all(thread const W & w, thread const no_weights &, thread simdgroup_float8x8 * d, threadgroup const half * x, threadgroup half * staged, ushort lane) {
    UNROLL for (uint j = 0; j < COUNT; ++j) {
      half4 v[2u * R];
      W::template decode<PIECE>(w, FIRST + j, v);
      multiply_eights<typename LAYOUT::template places<T>, R, N>(d, v, x, FIRST + j, staged, lane);
    }
  }
};

template <typename T, uint COLS, uint R, uint TOKENS, uint ROOM>
struct matrices<weight_rows<T, COLS, R, TOKENS, ROOM>, weight_rows<T, COLS, R, TOKENS, ROOM>> {
  typedef weight_rows<T, COLS, R, TOKENS, ROOM> W;
  typedef T format;
  enum : bool { TWO = weights_of<T>::TWO, ALIKE = true };
  template <typename LAYOUT, uint PIECE, uint N, uint FIRST, uint COUNT>
  static inline void multiply_all(thread const W & w, thread const W & u, thread simdgroup_float8x8 * d, threadgroup const half * x, threadgroup half * staged, ushort lane) {
    UNROLL for (uint j = 0; j < COUNT; ++j) {
      half4 v[4u * R];
      W::template decode<PIECE>(w, FIRST + j, v);
      W::template decode<PIECE>(u, FIRST + j, v + 2u * R);
      multiply_eights<typename LAYOUT::template places<T>, 2u * R, N>(d, v, x, FIRST + j, staged, lane);
    }
  }
};
