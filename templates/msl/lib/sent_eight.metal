// Copies of inputs to a tile, see product.metal.
//
// Eight inputs on the way to threadgroup memory. Halves are copied as they are, asynchronously if the
// platform can. Floats are split into two halves on the way. The first n inputs exist (8, 4 or 0); the others
// become 0.
template <typename X>
struct sent_eight {
  enum : uint { TERMS = eight_inputs<X>::TERMS };
  eight_inputs<X> e;
  template <bool NEAR>
  static inline void send(thread sent_eight & s, threadgroup half *, device const X * p, uint n) {
    if (n == 8u) eight_inputs<X>::load(s.e, p);
    else if (n == 4u) eight_inputs<X>::load_four(s.e, p);
    else eight_inputs<X>::none(s.e);
  }
  template <uint TERM>
  static inline void put(thread const sent_eight & s, threadgroup half * to) { *(threadgroup uint4 *)to = eight_inputs<X>::template halves<TERM>(s.e); }
};
template <> struct sent_eight<half> {
  enum : uint { TERMS = 1 };
  sixteen_bytes v;
  template <bool NEAR>
  static inline void send(thread sent_eight & s, threadgroup half * to, device const half * p, uint n) { sixteen_bytes::begin_copy<NEAR>(s.v, (threadgroup uint4 *)to, (device const uint4 *)p, 2u * n); }
  template <uint TERM>
  static inline void put(thread const sent_eight & s, threadgroup half * to) { sixteen_bytes::end_copy(s.v, (threadgroup uint4 *)to); }
};

// How many of the eight columns from c on exist. The number of columns is a multiple of four.
template <uint COLS>
static inline uint columns_from(uint c) { return c + 8u <= COLS ? 8u : COLS % 8u != 0u && c < COLS ? 4u : 0u; }
