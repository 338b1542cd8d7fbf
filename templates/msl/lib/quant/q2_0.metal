// Q2_0: 64 elements in 18 bytes: half d, two bits for each element in order; element = d (q - 1). A lane
// takes 32 elements, or 16.
template <uint SHARE>
struct q2_0_by {
  enum { COLUMNS = 64, BYTES = 18, EIGHTS = 8 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 64u) * BYTES); }

  // The bit pairs of a block, and d.
  template <uint COLS>
  static inline device const uchar * pairs_at(device const uchar * row, uint b) { return field_of<q2_0_by, COLS>(row, b, 2u, 16u, 0u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<q2_0_by, COLS>(row, b, 0u, 2u, 16u); }

  struct held { uint pairs[EIGHTS / 2]; half d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) q.pairs[i] = word_of(pairs_at<COLS>(row, b) + 2u * EIGHTS * part + 4u * i, apart<q2_0_by, COLS>());
    q.d = *(device const half *)d_at<COLS>(row, b);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) sum = add_eight(q.pairs[i], 16u, in.y[2 * i + 1], add_eight(q.pairs[i], 0u, in.y[2 * i], sum));
    return float(q.d) * sum;
  }

  // s + Σ of eight products, whose bit pairs are in the 16 bits at bit shift, 0 or 16: bits 4, 5, 12 and 13 of a pair of
  // 16 bits go to the upper one.
  template <typename Y>
  static inline float add_eight(uint pairs, uint shift, thread const Y & y, float s) {
    const half u = unit_of<2>(y);
    const uint v = SIXTEENS(pairs, pairs >> 4, shift), w = v >> 8;
    return add_products<2>(numbers_at(v, 0x00030003u, 0u, 1.0f, u), numbers_at(v, 0x00030003u, 2u, 1.0f, u),
                           numbers_at(w, 0x00030003u, 0u, 1.0f, u), numbers_at(w, 0x00030003u, 2u, 1.0f, u), y, s);
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 64u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<q2_0_by, N, COLS>(w, x, b, part, sum); }

  // The four bit pairs of a byte as 4 bytes, plus 1, so that they count from 2, a power of two.
  static inline uint four_pairs(uint v) {
    return ((v & 3u) | (v & 12u) << 6 | (v & 48u) << 12 | (v & 192u) << 18) + 0x01010101u;
  }

  // For product.metal: lane p of four decodes half of a block of a step, two of them.
  struct run { uint bits[2]; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = min(2u * step + p / 2u, COLS / 64u - 1u);
    UNROLL for (uint i = 0; i < 2u; ++i) r.bits[i] = word_of(pairs_at<COLS>(row, b) + p % 2u * 8u + 4u * i, apart<q2_0_by, COLS>());
    r.d = half_at(d_at<COLS>(row, b));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<2>(four_pairs(r.bits[j / 2u] >> (j % 2u * 16u + 8u * u))); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    return half_at(d_at<COLS>(row, i / 64u)) * (float(pairs_at<COLS>(row, i / 64u)[(i & 63u) / 4u] >> 2u * (i & 3u) & 3u) - 1.0f);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<q2_0_by<SHARE>, N, COLS> : preloaded_lanes<q2_0_by<SHARE>, N, COLS> {};

typedef q2_0_by<2> q2_0;
