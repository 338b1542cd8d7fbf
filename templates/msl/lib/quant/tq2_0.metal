// TQ2_0: 256 elements in 66 bytes: 64 bytes of bit pairs, half d; element = d (q - 1). Within each half of 128,
// element 32k+l has bits 2k of byte l. A lane takes 8 values of l, with all k or with two of them.
template <uint SHARE>
struct tq2_0_by {
  enum { COLUMNS = 256, BYTES = 66, PAIRS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The bit pairs of a block, and d.
  template <uint COLS>
  static inline device const uchar * pairs_at(device const uchar * row, uint b) { return field_of<tq2_0_by, COLS>(row, b, 0u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<tq2_0_by, COLS>(row, b, 64u, 2u, 64u); }

  struct held { uint2 pairs; half d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    q.pairs = two_words_of(pairs_at<COLS>(row, b) + h * 32u + l, apart<tq2_0_by, COLS>()) >> 2u * k0;
    q.d = *(device const half *)d_at<COLS>(row, b);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (ushort k = 0; k < PAIRS; ++k) sum = add_bit_pairs<2>(q.pairs, k, 1.0f, in.y[k], sum);
    return float(q.d) * sum;
  }

  template <typename X> struct inputs { typename X::eight y[PAIRS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    UNROLL for (ushort k = 0; k < PAIRS; ++k) load_row(x, b * 256u + part / (SHARE / 2u) * 128u + (k0 + k) * 32u + part / (SHARE / 8u) % 4u * 8u, in.y[k]);
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<tq2_0_by, N, COLS>(w, x, b, part, sum); }

  // The lowest bit pairs of 4 bytes, plus 1, so that they count from 2, a power of two.
  static inline uint one_more(uint pairs) { return (pairs & 0x03030303u) + 0x01010101u; }

  // For product.metal: lane p of four decodes two bit pairs of sixteen bytes of a step, half a block.
  struct run { uint4 q; uint shift; float d; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    r.q = sixteen_at(pairs_at<COLS>(row, step / 2u) + step % 2u * 32u + 16u * (p % 2u), apart<tq2_0_by, COLS>() ? 16u : 2u);
    r.shift = p / 2u * 2u;
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return centred<2>(one_more(r.q[j % 2u * 2u + u] >> (r.shift + j / 2u * 4u)));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint h = (i & 255u) / 128u, k = (i & 127u) / 32u;
    return half_at(d_at<COLS>(row, i / 256u)) * (float(pairs_at<COLS>(row, i / 256u)[h * 32u + (i & 31u)] >> 2u * k & 3u) - 1.0f);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<tq2_0_by<SHARE>, N, COLS> : preloaded_lanes<tq2_0_by<SHARE>, N, COLS> {};

typedef tq2_0_by<8> tq2_0;
