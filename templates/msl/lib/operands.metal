// Operands on devices where a product of floats takes no longer than a product of halves: weights get the
// type of the inputs. A tile that simdgroups share has a part of a step, FOURS times four columns of each of
// four lanes, so that a row takes the same bytes with both types. The same holds for STAGED, the number of
// staged blocks of rows of weights.
template <typename X> struct operand;
template <> struct operand<half> {
  typedef half4 four;
  typedef simdgroup_half8x8 matrix;
  enum : uint { FOURS = 4, STAGED = 2 };
  template <typename T, uint PIECE>
  static inline half4 of(thread const typename T::run & r, uint j, uint u) { return piece_of<T, PIECE>(r, j, u); }
  template <uint>
  static inline void put(threadgroup half * to, thread const eight_inputs<half> & e) { *(threadgroup uint4 *)to = e.v; }
};
template <> struct operand<float> {
  typedef float4 four;
  typedef simdgroup_float8x8 matrix;
  enum : uint { FOURS = 2, STAGED = 1 };
  template <typename T, uint PIECE>
  static inline float4 of(thread const typename T::run & r, uint j, uint u) { return weights_of<T>::floats(r, j, u); }
  template <uint N>
  static inline void put(threadgroup float * to, thread const eight_inputs<float> & e) {
    UNROLL for (uint i = 0; i < N / 4u; ++i) *(threadgroup float4 *)(to + 4u * i) = e.v[i];
  }
};

// Whether there is a second product with the rounding errors of weights: with halves, for weights that one
// half is too coarse for.
template <typename X, typename T> struct two_pieces { enum : bool { VALUE = false }; };
template <typename T> struct two_pieces<half, T> { enum : bool { VALUE = weights_of<T>::TWO }; };
