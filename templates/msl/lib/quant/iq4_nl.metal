// IQ4_NL: 32 elements in 18 bytes: half d, 16 bytes of nibbles; element = d value[nibble].
struct iq4_nl {
  enum { COLUMNS = 32 };

  static inline uint share(uint) { return 2u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 32u) * 18u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint h = (part & 1u) * 8u;
    float y[16];
    load<8>(x, b * 32u + h, y);
    load<8>(x, b * 32u + 16u + h, y + 8);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 18u;
      sum[r] = fma(half_at(p), table_nibbles(p + 2 + h, iq4_values, y), sum[r]);
    }
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q; half scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + min(4u * step + p, COLS / 32u - 1u) * 18u;
    r.q = sixteen_at(at + 2, 2u);
    r.scale = *(device const half *)at;
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return values_at(iq4_values, nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(float(r.scale), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 32u) * 18u;
    return half_at(p) * iq4_values[nibble(p + 2, i & 31u)];
  }
};
