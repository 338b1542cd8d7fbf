// For formats whose lanes load their part of a block before they multiply it: the loads can then start before
// the inputs are there (see ahead.metal), and halves are multiplied as halves. Such a format T has
//   held, load_held<COLS>(row, b, part, q)     the part of block b of a row that lane `part` holds
//   inputs<X>, load_inputs(x, b, part, in)     the inputs that the lane multiplies it by
//   product(q, in)                             the sum of the products
// and BYTES, the bytes of a block in a file.
template <typename T, ushort N, uint COLS, typename X>
static inline void step_lanes(device const uchar * w, X x, uint b, uint part, thread float * sum) {
  typename T::template inputs<X> in;
  T::load_inputs(x, b, part, in);
  UNROLL for (ushort r = 0; r < N; ++r) {
    typename T::held q;
    T::template load_held<COLS>(w + r * T::row_bytes(COLS), b, part, q);
    sum[r] += T::product(q, in);
  }
}

template <typename T, ushort N, uint COLS>
struct preloaded_lanes {
  enum : bool { PRELOADS = true };
  typename T::held q[N];

  static inline void load(device const uchar * w, uint b, uint part, thread preloaded_lanes & h) {
    UNROLL for (ushort r = 0; r < N; ++r) T::template load_held<COLS>(w + r * T::row_bytes(COLS), b, part, h.q[r]);
  }

  template <typename X>
  static inline void multiply(thread const preloaded_lanes & h, X x, uint b, uint part, thread float * sum) {
    typename T::template inputs<X> in;
    T::load_inputs(x, b, part, in);
    UNROLL for (ushort r = 0; r < N; ++r) sum[r] += T::product(h.q[r], in);
  }
};

// Whether the fields of blocks are in separate arrays: quant.SplitRows.
template <typename T, uint COLS>
static inline bool apart() { return is_split(ulong(COLS / T::COLUMNS) * T::BYTES); }

// Returns a field of block b, which has `bytes` bytes and begins `from` bytes into a block. If fields are in
// separate arrays, the arrays of all wider fields come first; these have `wider` bytes per block.
template <typename T, uint COLS>
static inline device const uchar * field_of(device const uchar * row, uint b, uint from, uint bytes, uint wider) {
  return apart<T, COLS>() ? row + COLS / T::COLUMNS * wider + b * bytes : row + b * T::BYTES + from;
}

// Loads the 4 or 8 bytes at p, which is aligned to their size, or else only to 2 bytes.
static inline uint word_of(device const uchar * p, bool aligned) { return aligned ? word_at<4>(p) : word_at<2>(p); }

static inline uint2 two_words_of(device const uchar * p, bool aligned) {
  if (aligned) return *(device const uint2 *)p;
  uint2 v;
  v.x = word_at<2>(p);
  v.y = word_at<2>(p + 4);
  return v;
}

// The numbers in each 16 bits of q that `mask`, shifted by `shift`, selects, minus middle, times unit. With
// their shift they must be below 1024.
static inline half2 numbers_at(uint q, uint mask, uint shift, float middle, half unit) {
  const float step = 1.0f / float(1u << shift);
  return fma(plus_1024(q, mask << shift), half2(unit * half(step)), half2(unit * half(-1024.0f * step - middle)));
}

// s + Σ (number - middle) * y over the two-bit numbers from bit 2k on, in 4 bytes of q.x and 4 of q.y.
template <short RANGE, typename Y>
static inline float add_bit_pairs(uint2 q, uint k, float middle, thread const Y & y, float s) {
  const half u = unit_of<RANGE>(y);
  return add_products<RANGE>(numbers_at(q.x, 0x00030003u, 2u * k, middle, u), numbers_at(q.x >> 8, 0x00030003u, 2u * k, middle, u),
                             numbers_at(q.y, 0x00030003u, 2u * k, middle, u), numbers_at(q.y >> 8, 0x00030003u, 2u * k, middle, u), y, s);
}

// Moves bits i and i+2 of a number below 1024 to the signs of two halves, bits 15 and 31. No other partial
// product of the multiplication carries into these bits. i is 0, 1, 4 or 5.
static inline uint sign_bits(uint signs, uint i) { return signs * (0x20008000u >> i) & 0x80008000u; }

// v with the signs flipped that are set in signs.
static inline half2 with_signs(half2 v, uint signs) { return as_type<half2>(as_type<uint>(v) ^ signs); }

// s + Σ ±v * y; signs has a bit for each product.
template <short RANGE, typename Y>
static inline float add_signed_products(half2 v0, half2 v1, half2 v2, half2 v3, uint signs, thread const Y & y, float s) {
  return add_products<RANGE>(with_signs(v0, sign_bits(signs, 0u)), with_signs(v1, sign_bits(signs, 1u)),
                             with_signs(v2, sign_bits(signs, 4u)), with_signs(v3, sign_bits(signs, 5u)), y, s);
}

// The two numbers below 64 in the lower bits of each 16 bits, minus middle.
static inline float2 two_numbers(uint v, uint mask, float middle) {
  const half2 n = plus_1024(v, mask) - half2(half(1024.0f + middle));
  return two_floats(float(n.x), float(n.y));
}
