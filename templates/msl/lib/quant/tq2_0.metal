// TQ2_0: 256 elements in 66 bytes: 64 bytes of bit pairs, half d; element = d (q - 1). Within each half of 128,
// element 32k+l has bits 2k of byte l. A lane takes 8 values of l, with all k or with two of them.
template <uint SHARE>
struct tq2_0_by {
  enum { COLUMNS = 256, PAIRS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 66u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u) * PAIRS;
    eight_floats y[PAIRS];
    UNROLL for (ushort k = 0; k < PAIRS; ++k) load_row(x, b * 256u + h * 128u + (k0 + k) * 32u + l, y[k]);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 66u;
      device const uchar * qs = p + h * 32u + l;
      const uint low = word_at<2>(qs) >> 2u * k0, high = word_at<2>(qs + 4) >> 2u * k0;
      float q = 0.0f;
      UNROLL for (ushort k = 0; k < PAIRS; ++k) q = add_bytes<2>(one_more(low >> 2u * k), one_more(high >> 2u * k), y[k], q);
      sum[r] = fma(half_at(p + 64), q, sum[r]);
    }
  }

  // The lowest bit pairs of 4 bytes, plus 1: they count from 2 then, a power of two.
  static inline uint one_more(uint pairs) { return (pairs & 0x03030303u) + 0x01010101u; }

  // For product.msl: lane p of four decodes two bit pairs of sixteen bytes of a step, half a block.
  struct run { uint4 q; uint shift; float d; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 66u;
    r.q = sixteen_at(at + step % 2u * 32u + 16u * (p % 2u), 2u);
    r.shift = p / 2u * 2u;
    r.d = half_at(at + 64);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return centred<2>(one_more(r.q[j % 2u * 2u + u] >> (r.shift + j / 2u * 4u)));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 66u;
    const uint h = (i & 255u) / 128u, k = (i & 127u) / 32u;
    return half_at(p + 64) * (float(p[h * 32u + (i & 31u)] >> 2u * k & 3u) - 1.0f);
  }
};

typedef tq2_0_by<8> tq2_0;
