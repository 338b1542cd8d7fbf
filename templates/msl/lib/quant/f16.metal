// F16: half.
struct f16 {
  enum { COLUMNS = 4 };

  static inline uint share(uint) { return 1u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols) * 2u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint, thread float * sum) {
    float y[4];
    load4(x, b * 4u, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      const half4 v = *(device const half4 *)(w + r * row_bytes(COLS) + b * 8u);
      sum[r] = fma(float(v.x), y[0], sum[r]);
      sum[r] = fma(float(v.y), y[1], sum[r]);
      sum[r] = fma(float(v.z), y[2], sum[r]);
      sum[r] = fma(float(v.w), y[3], sum[r]);
    }
  }

  // For product.metal: lane p of four loads 32 columns of a step.
  struct run { half4 v[8]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    UNROLL for (uint i = 0; i < 8u; ++i) r.v[i] = *(device const half4 *)(row + min(128u * step + 32u * p + 4u * i, COLS - 4u) * 2u);
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) { return float(((device const half *)row)[i]); }
};

template <>
struct weights_of<f16> {
  enum : bool { TWO = false };
  static inline half4 halves(thread const f16::run & r, uint j, uint u) { return r.v[2u * j + u]; }
  static inline float4 floats(thread const f16::run & r, uint j, uint u) { return in_full(r.v[2u * j + u]); }
};
