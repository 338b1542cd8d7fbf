// MXFP4: 32 elements in 17 bytes: exponent e, 16 bytes of nibbles (E2M1);
// element = 2^(e-128) value[nibble], the values being twice E2M1's. Rows are only byte-aligned.
constant float mxfp4_values[16] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 6.0f, 8.0f, 12.0f,
                                   0.0f, -1.0f, -2.0f, -3.0f, -4.0f, -6.0f, -8.0f, -12.0f};

// 2^(e-128), subnormal for e < 2.
static inline float mxfp4_scale(uint e) { return as_type<float>(e < 2u ? 0x00200000u << e : (e - 1u) << 23); }

struct mxfp4 {
  enum { COLUMNS = 32 };

  static inline uint share(uint) { return 2u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 32u) * 17u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint h = (part & 1u) * 8u;
    float y[16];
    load<8>(x, b * 32u + h, y);
    load<8>(x, b * 32u + 16u + h, y + 8);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 17u;
      sum[r] = fma(mxfp4_scale(p[0]), table_nibbles(p + 1 + h, mxfp4_values, y), sum[r]);
    }
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q; float scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + min(4u * step + p, COLS / 32u - 1u) * 17u;
    r.q = sixteen_at(at + 1, 1u);
    r.scale = mxfp4_scale(at[0]);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return values_at(mxfp4_values, nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.scale, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 32u) * 17u;
    return mxfp4_scale(p[0]) * mxfp4_values[nibble(p + 1, i & 31u)];
  }
};
