// BF16: the upper 16 bits of a float.
struct bf16 {
  enum { COLUMNS = 4 };

  static inline uint share(uint) { return 1u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols) * 2u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint, thread float * sum) {
    float y[4];
    load4(x, b * 4u, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      const uint2 v = *(device const uint2 *)(w + r * row_bytes(COLS) + b * 8u);
      sum[r] = fma(as_type<float>(v.x << 16), y[0], sum[r]);
      sum[r] = fma(as_type<float>(v.x & 0xffff0000u), y[1], sum[r]);
      sum[r] = fma(as_type<float>(v.y << 16), y[2], sum[r]);
      sum[r] = fma(as_type<float>(v.y & 0xffff0000u), y[3], sum[r]);
    }
  }

  // For product.metal: lane p of four loads 32 columns of a step.
  struct run { uint2 v[8]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    UNROLL for (uint i = 0; i < 8u; ++i) r.v[i] = *(device const uint2 *)(row + min(128u * step + 32u * p + 4u * i, COLS - 4u) * 2u);
  }

  static inline float4 values(thread const run & r, uint j, uint u) {
    const uint2 v = r.v[2u * j + u];
    float4 f;
    f.x = as_type<float>(v.x << 16);
    f.y = as_type<float>(v.x & 0xffff0000u);
    f.z = as_type<float>(v.y << 16);
    f.w = as_type<float>(v.y & 0xffff0000u);
    return f;
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) { return as_type<float>(uint(((device const ushort *)row)[i]) << 16); }
};

template <>
struct weights_of<bf16> {
  enum : bool { TWO = false };
  static inline half4 halves(thread const bf16::run & r, uint j, uint u) { return rounded(bf16::values(r, j, u)); }
  static inline float4 floats(thread const bf16::run & r, uint j, uint u) { return bf16::values(r, j, u); }
};
