// Q3_K: 256 elements in 110 bytes: 32 bytes of third bits, 64 bytes of bit pairs, 12 bytes with 16 scales of
// 6 bits, half d; element = d (scale - 32) (q - 4). Within each half of 128, element 32k+l has bits 2k of
// byte l, and in both its third bit is bit 4h+k of byte l. A lane takes 8 values of l, with all k or
// with two of them.
template <uint SHARE>
struct q3_k_by {
  enum { COLUMNS = 256, PAIRS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 110u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    eight_floats y[PAIRS];
    UNROLL for (ushort k = 0; k < PAIRS; ++k) load_row(x, b * 256u + h * 128u + (k0 + k) * 32u + l, y[k]);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 110u;
      device const uchar * qs = p + 32u + h * 32u + l;
      const uint low = word_at<2>(qs) >> 2u * k0, high = word_at<2>(qs + 4) >> 2u * k0;
      const uint third_low = word_at<2>(p + l) >> (4u * h + k0), third_high = word_at<2>(p + l + 4u) >> (4u * h + k0);
      float q = 0.0f;
      UNROLL for (ushort k = 0; k < PAIRS; ++k) {
        const float sub = add_bytes<4>(three_bits(low >> 2u * k, third_low >> k), three_bits(high >> 2u * k, third_high >> k), y[k], 0.0f);
        q = fma(scale(p, 8u * h + 2u * (k0 + k) + l / 16u), sub, q);
      }
      sum[r] = fma(half_at(p + 108), q, sum[r]);
    }
  }

  // The lowest bit pairs of 4 bytes, and as third bits the lowest of 4 others.
  static inline uint three_bits(uint pairs, uint third) { return (pairs & 0x03030303u) | (third & 0x01010101u) << 2; }

  static inline float scale(device const uchar * p, uint s) {
    const uint low = p[96u + s % 8u] >> s / 8u * 4u & 15u, upper = p[104u + s % 4u] >> s / 4u * 2u & 3u;
    return float(low | upper << 4) - 32.0f;
  }

  // For product.msl: lane p of four decodes two bit pairs of sixteen bytes of a step, half a block.
  struct run { uint4 q, third; uint shift; float scale[2]; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 110u;
    const uint h = step % 2u;
    r.q = sixteen_at(at + 32u + h * 32u + 16u * (p % 2u), 2u);
    r.third = sixteen_at(at + 16u * (p % 2u), 2u) >> 4u * h;
    r.shift = p / 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = half_at(at + 108) * scale(at, h * 8u + p + 4u * i);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint i = j % 2u * 2u + u, k = r.shift + j / 2u * 2u;
    return centred<4>(three_bits(r.q[i] >> 2u * k, r.third[i] >> k));
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.scale[j / 2u], 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 110u;
    const uint h = (i & 255u) / 128u, k = (i & 127u) / 32u, l = i & 31u;
    const uint q = three_bits(p[32u + h * 32u + l] >> 2u * k, p[l] >> (4u * h + k)) & 7u;
    return half_at(p + 108) * scale(p, (i & 255u) / 16u) * (float(q) - 4.0f);
  }
};

typedef q3_k_by<8> q3_k;
