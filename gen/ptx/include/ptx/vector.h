// Vectors. The translation writes make<float4>(…) for MSL's float4(…).
#pragma once

#define FOR_VECTORS(T) VECTOR(T, 2) VECTOR(T, 3) VECTOR(T, 4)
#define FOR_ALL_VECTORS                                                              \
  FOR_VECTORS(bool)                                                                  \
  FOR_VECTORS(char)                                                                  \
  FOR_VECTORS(uchar)                                                                 \
  FOR_VECTORS(short)                                                                 \
  FOR_VECTORS(ushort)                                                                \
  FOR_VECTORS(int)                                                                   \
  FOR_VECTORS(uint)                                                                  \
  FOR_VECTORS(long)                                                                  \
  FOR_VECTORS(ulong)                                                                 \
  FOR_VECTORS(half)                                                                  \
  FOR_VECTORS(float)

// Vector types are in no namespace, like scalars. packed_ vectors have the alignment of their elements and
// convert to the other vectors.
#define VECTOR(T, N)                                                                 \
  typedef T T##N __attribute__((ext_vector_type(N)));                                \
  typedef T packed_##T##N __attribute__((ext_vector_type(N), aligned(sizeof(T))));
FOR_ALL_VECTORS
#undef VECTOR

namespace metal {
// The element type and length of a vector type; length 1: no vector.
template <typename V>
struct shape {
  typedef V element;
  static constexpr int length = 1;
};

#define VECTOR(T, N)                \
  template <>                       \
  struct shape<T##N> {              \
    typedef T element;              \
    static constexpr int length = N; \
  };
FOR_ALL_VECTORS
#undef VECTOR
#undef FOR_ALL_VECTORS
#undef FOR_VECTORS

// Copies a, a scalar or a vector, into v from element i on. Returns the index after the last copied element.
template <typename V, typename A>
METAL_FUNC int append(V &v, int i, A a) {
  typedef typename shape<V>::element E;
  if constexpr (shape<A>::length == 1) {
    v[i] = E(a);
  } else {
    for (int j = 0; j < shape<A>::length; ++j) v[i + j] = E(a[j]);
  }
  return i + shape<A>::length;
}

// V(a, …): the arguments' elements in order; a lone scalar fills the vector.
template <typename V, typename... A>
METAL_FUNC V make(A... a) {
  if constexpr (sizeof...(A) == 1 && ((shape<A>::length == 1) && ...)) {
    return (V(typename shape<V>::element(a)), ...);
  } else {
    static_assert((shape<A>::length + ...) == shape<V>::length, "as many elements as the vector has");
    V v = {};
    int i = 0;
    ((i = append(v, i, a)), ...);
    return v;
  }
}
}
