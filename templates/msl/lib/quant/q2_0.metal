// Q2_0: 64 elements in 18 bytes: half d, two bits for each element in order; element = d (q - 1). A lane
// takes 32 elements.
struct q2_0 {
  enum { COLUMNS = 64 };

  static inline uint share(uint) { return 2u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 64u) * 18u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    eight_floats y[4];
    load_rows<4>(x, b * 64u + 32u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 18u;
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < 4; ++i) {
        const uint bits = ushort_at(p + 2u + 8u * part + 2u * i);
        q = add_bytes<2>(four_pairs(bits), four_pairs(bits >> 8), y[i], q);
      }
      sum[r] = fma(half_at(p), q, sum[r]);
    }
  }

  // The four bit pairs of a byte as 4 bytes, plus 1: they count from 2 then, a power of two.
  static inline uint four_pairs(uint v) {
    return ((v & 3u) | (v & 12u) << 6 | (v & 48u) << 12 | (v & 192u) << 18) + 0x01010101u;
  }

  // For product.msl: lane p of four decodes half of a block of a step, two of them.
  struct run { uint bits[2]; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(min(2u * step + p / 2u, COLS / 64u - 1u)) * 18u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.bits[i] = word_at<2>(at + 2u + p % 2u * 8u + 4u * i);
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<2>(four_pairs(r.bits[j / 2u] >> (j % 2u * 16u + 8u * u))); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 64u) * 18u;
    return half_at(p) * (float(p[2u + (i & 63u) / 4u] >> 2u * (i & 3u) & 3u) - 1.0f);
  }
};
