// IQ4_XS: 256 elements in 136 bytes: half d, 8 scales of 6 bits (2 bytes with the upper bit
// pairs, 4 with the low nibbles), 128 bytes of nibbles; element = d (scale - 32) value[nibble].
struct iq4_xs {
  enum { COLUMNS = 256 };

  static inline uint share(uint) { return 16u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 136u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint s = part / 2u; // sub-block of 32
    const uint h = (part & 1u) * 8u;
    float y[16];
    load<8>(x, b * 256u + s * 32u + h, y);
    load<8>(x, b * 256u + s * 32u + 16u + h, y + 8);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 136u;
      const float q = table_nibbles(p + 8u + s * 16u + h, iq4_values, y);
      sum[r] = fma(half_at(p) * scale(p, s), q, sum[r]);
    }
  }

  // For product.metal: lane p of four decodes a sub-block of a step, half a block.
  struct run { uint4 q; float scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 136u;
    const uint s = step % 2u * 4u + p;
    r.q = sixteen_at(at + 8u + 16u * s, 8u);
    r.scale = half_at(at) * scale(at, s);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return values_at(iq4_values, nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.scale, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 136u;
    const uint s = (i & 255u) / 32u;
    return half_at(p) * scale(p, s) * iq4_values[nibble(p + 8u + s * 16u, i & 31u)];
  }

  static inline float scale(device const uchar * p, uint s) {
    const uint low = p[4u + s / 2u] >> (4u * (s & 1u)) & 15u;
    const uint high = ushort_at(p + 2) >> (2u * s) & 3u;
    return float(low | high << 4) - 32.0f;
  }
};
