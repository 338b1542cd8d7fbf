// Q2_K: 256 elements in 84 bytes: 16 bytes with a scale in the low and a minimum in the high nibble, 64
// bytes of bit pairs, half d, half dmin; element = d scale q - dmin min. Within each half of 128, element
// 32k+l has bits 2k of byte l. A lane takes 8 values of l, with all k or with two of them. Blocks are
// 4-byte aligned.
template <uint SHARE>
struct q2_k_by {
  enum { COLUMNS = 256, BYTES = 84, PAIRS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * BYTES; }

  // The scales of a pair of sub-blocks are in the lower bytes of 16 bits each.
  struct held { uint2 q; uint scales[PAIRS / 2], d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    device const uchar * p = row + b * BYTES;
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    device const uchar * qs = p + 16u + h * 32u + l;
    q.q.x = word_at<4>(qs) >> 2u * k0;
    q.q.y = word_at<4>(qs + 4) >> 2u * k0;
    UNROLL for (uint i = 0; i < PAIRS / 2; ++i) q.scales[i] = word_at<4>(p + h * 8u + k0 * 2u + 4u * i) >> l / 16u * 8u;
    q.d = word_at<4>(p + 80);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f, least = 0.0f;
    UNROLL for (uint i = 0; i < PAIRS / 2; ++i) {
      const float2 scale = two_numbers(q.scales[i], 0x000f000fu, 0.0f), low = two_numbers(q.scales[i] >> 4, 0x000f000fu, 0.0f);
      sum = fma(scale.x, add_bit_pairs<2>(q.q, 2u * i, 2.0f, in.y[2 * i], 2.0f * in.sums[2 * i]), sum);
      sum = fma(scale.y, add_bit_pairs<2>(q.q, 2u * i + 1u, 2.0f, in.y[2 * i + 1], 2.0f * in.sums[2 * i + 1]), sum);
      least = fma(low.y, in.sums[2 * i + 1], fma(low.x, in.sums[2 * i], least));
    }
    return fma(low_half(q.d), sum, -(high_half(q.d) * least));
  }

  template <typename X> struct inputs { typename X::eight y[PAIRS]; float sums[PAIRS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    UNROLL for (ushort k = 0; k < PAIRS; ++k) {
      load_row(x, b * 256u + part / (SHARE / 2u) * 128u + (k0 + k) * 32u + part / (SHARE / 8u) % 4u * 8u, in.y[k]);
      in.sums[k] = sum_of_eights<1>(in.y + k);
    }
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<q2_k_by, N, COLS>(w, x, b, part, sum); }

  // For product.metal: lane p of four decodes two bit pairs of sixteen bytes of a step, half a block.
  struct run { uint4 q; uint shift, d; uchar scale[2]; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 84u;
    const uint h = step % 2u;
    r.q = sixteen_at(at + 16u + h * 32u + 16u * (p % 2u), 4u);
    r.shift = p / 2u * 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = at[h * 8u + p + 4u * i];
    r.d = word_at<4>(at + 80);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return centred<2>(r.q[j % 2u * 2u + u] >> (r.shift + j / 2u * 4u) & 0x03030303u);
  }

  static inline float2 scaling(thread const run & r, uint j) {
    const uint s = r.scale[j / 2u];
    const float scale = low_half(r.d) * float(s & 15u);
    return two_floats(scale, fma(2.0f, scale, -(high_half(r.d) * float(s >> 4))));
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 84u;
    const uint h = (i & 255u) / 128u, k = (i & 127u) / 32u, l = i & 31u;
    const uint s = p[h * 8u + 2u * k + l / 16u], q = p[16u + h * 32u + l] >> 2u * k & 3u;
    return fma(half_at(p + 80) * float(s & 15u), float(q), -(half_at(p + 82) * float(s >> 4)));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<q2_k_by<SHARE>, N, COLS> : preloaded_lanes<q2_k_by<SHARE>, N, COLS> {};

typedef q2_k_by<8> q2_k;
