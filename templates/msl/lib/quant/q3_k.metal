// Q3_K: 256 elements in 110 bytes: 32 bytes of third bits, 64 bytes of bit pairs, 12 bytes with 16 scales of
// 6 bits, half d; element = d (scale - 32) (q - 4). Within each half of 128, element 32k+l has bits 2k of
// byte l, and in both its third bit is bit 4h+k of byte l. A lane takes 8 values of l, with all k or
// with two of them.
template <uint SHARE>
struct q3_k_by {
  enum { COLUMNS = 256, BYTES = 110, PAIRS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The bit pairs of a block, its third bits, scales and d.
  template <uint COLS>
  static inline device const uchar * pairs_at(device const uchar * row, uint b) { return field_of<q3_k_by, COLS>(row, b, 32u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * third_at(device const uchar * row, uint b) { return field_of<q3_k_by, COLS>(row, b, 0u, 32u, 64u); }

  template <uint COLS>
  static inline device const uchar * scales_at(device const uchar * row, uint b) { return field_of<q3_k_by, COLS>(row, b, 96u, 12u, 96u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<q3_k_by, COLS>(row, b, 108u, 2u, 108u); }

  // The third bits of a byte begin at bit 4. The scales of a pair of sub-blocks are in the lower bits of 16 bits each.
  struct held { uint2 pairs, third; uint scales[PAIRS / 2]; half d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const bool aligned = apart<q3_k_by, COLS>();
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    q.pairs = two_words_of(pairs_at<COLS>(row, b) + h * 32u + l, aligned) >> 2u * k0;
    q.third = two_words_of(third_at<COLS>(row, b) + l, aligned) << 4u * (1u - h) >> k0;
    device const uchar * scales = scales_at<COLS>(row, b);
    const uint shift = l / 16u * 8u + 4u * h, upper = word_of(scales + 8, aligned) >> shift;
    UNROLL for (uint i = 0; i < PAIRS / 2; ++i) {
      const uint c = k0 / 2u + i;
      q.scales[i] = (word_of(scales + 4u * c, aligned) >> shift & 0x000f000fu) | (upper >> 2u * c & 0x00030003u) << 4;
    }
    q.d = *(device const half *)d_at<COLS>(row, b);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < PAIRS / 2; ++i) {
      const float2 scale = two_numbers(q.scales[i], 0x003f003fu, 32.0f);
      sum = fma(scale.x, add_threes(q, 2u * i, in.y[2 * i]), sum);
      sum = fma(scale.y, add_threes(q, 2u * i + 1u, in.y[2 * i + 1]), sum);
    }
    return float(q.d) * sum;
  }

  template <typename Y>
  static inline float add_threes(thread const held & q, uint k, thread const Y & y) {
    const half u = unit_of<4>(y);
    return add_products<4>(threes(q.pairs.x, q.third.x, k, u), threes(q.pairs.x >> 8, q.third.x >> 8, k, u),
                           threes(q.pairs.y, q.third.y, k, u), threes(q.pairs.y >> 8, q.third.y >> 8, k, u), y, 0.0f);
  }

  // The numbers of pairs k, less 4, and four times their third bits, of each 16 bits, in units. Half 64 has the
  // value 1 in bit 4.
  static inline half2 threes(uint pairs, uint third, uint k, half unit) {
    const float step = 1.0f / float(1u << k);
    const half2 upper = as_type<half2>(AND_OR(third, 0x00100010u << k, 0x54005400u));
    return fma(upper, half2(unit * half(4.0f * step)), numbers_at(pairs, 0x00030003u, 2u * k, 4.0f + 256.0f * step, unit));
  }

  template <typename X> struct inputs { typename X::eight y[PAIRS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    UNROLL for (ushort k = 0; k < PAIRS; ++k) load_row(x, b * 256u + part / (SHARE / 2u) * 128u + (k0 + k) * 32u + part / (SHARE / 8u) % 4u * 8u, in.y[k]);
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<q3_k_by, N, COLS>(w, x, b, part, sum); }

  // The lowest bit pairs of 4 bytes, and as third bits the lowest of 4 others.
  static inline uint three_bits(uint pairs, uint third) { return (pairs & 0x03030303u) | (third & 0x01010101u) << 2; }

  static inline float scale(device const uchar * scales, uint s) {
    const uint low = scales[s % 8u] >> s / 8u * 4u & 15u, upper = scales[8u + s % 4u] >> s / 4u * 2u & 3u;
    return float(low | upper << 4) - 32.0f;
  }

  // For product.metal: lane p of four decodes two bit pairs of sixteen bytes of a step, half a block.
  struct run { uint4 q, third; uint shift; float scale[2]; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = step / 2u, h = step % 2u;
    const ulong align = apart<q3_k_by, COLS>() ? 16u : 2u;
    r.q = sixteen_at(pairs_at<COLS>(row, b) + h * 32u + 16u * (p % 2u), align);
    r.third = sixteen_at(third_at<COLS>(row, b) + 16u * (p % 2u), align) >> 4u * h;
    r.shift = p / 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b), h * 8u + p + 4u * i);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint i = j % 2u * 2u + u, k = r.shift + j / 2u * 2u;
    return centred<4>(three_bits(r.q[i] >> 2u * k, r.third[i] >> k));
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.scale[j / 2u], 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, h = (i & 255u) / 128u, k = (i & 127u) / 32u, l = i & 31u;
    const uint q = three_bits(pairs_at<COLS>(row, b)[h * 32u + l] >> 2u * k, third_at<COLS>(row, b)[l] >> (4u * h + k)) & 7u;
    return half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b), (i & 255u) / 16u) * (float(q) - 4.0f);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<q3_k_by<SHARE>, N, COLS> : preloaded_lanes<q3_k_by<SHARE>, N, COLS> {};

typedef q3_k_by<8> q3_k;
