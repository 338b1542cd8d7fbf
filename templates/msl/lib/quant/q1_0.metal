// Q1_0: 128 elements in 18 bytes: half d, a bit for each element; element = d where it is set, else -d.
// A lane takes 32 elements.
struct q1_0 {
  enum { COLUMNS = 128 };

  static inline uint share(uint) { return 4u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 128u) * 18u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    eight_floats y[4];
    load_rows<4>(x, b * 128u + 32u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 18u;
      const uint bits = word_at<2>(p + 2u + 4u * part);
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < 4; ++i) q = add_bytes<2>(ones(bits >> 8u * i), ones(bits >> (8u * i + 4u)), y[i], q);
      sum[r] = fma(half_at(p), q, sum[r]);
    }
  }

  // Bits 0 to 3 of a number as 4 bytes of 1 or 3: they count from 2.
  static inline uint ones(uint bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) * 2u + 0x01010101u; }

  // For product.msl: lane p of four decodes 32 columns of a step, a block.
  struct run { uint bits; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step) * 18u;
    r.bits = word_at<2>(at + 2u + 4u * p);
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<2>(ones(r.bits >> (8u * j + 4u * u))); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 128u) * 18u;
    const float d = half_at(p);
    return p[2u + (i & 127u) / 8u] >> (i & 7u) & 1u ? d : -d;
  }
};
