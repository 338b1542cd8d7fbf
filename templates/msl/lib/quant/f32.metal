// F32: float.
struct f32 {
  enum { COLUMNS = 4 };

  static inline uint share(uint) { return 1u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols) * 4u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint, thread float * sum) {
    float y[4];
    load4(x, b * 4u, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      const float4 v = *(device const float4 *)(w + r * row_bytes(COLS) + b * 16u);
      sum[r] = fma(v.x, y[0], sum[r]);
      sum[r] = fma(v.y, y[1], sum[r]);
      sum[r] = fma(v.z, y[2], sum[r]);
      sum[r] = fma(v.w, y[3], sum[r]);
    }
  }

  // For product.metal: lane p of four loads 32 columns of a step.
  struct run { float4 v[8]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    UNROLL for (uint i = 0; i < 8u; ++i) r.v[i] = *(device const float4 *)(row + min(128u * step + 32u * p + 4u * i, COLS - 4u) * 4u);
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) { return ((device const float *)row)[i]; }
};

template <>
struct weights_of<f32> {
  enum : bool { TWO = true };
  static inline half4 halves(thread const f32::run & r, uint j, uint u) { return rounded(r.v[2u * j + u]); }
  static inline float4 floats(thread const f32::run & r, uint j, uint u) { return r.v[2u * j + u]; }
};

template <uint COLS>
struct lane_words<f32, COLS> : own_sixteens {
  enum : uint { SIXTEENS = 8, WORDS = 0, SHARERS = 1, ALIGN = COLS * 4u };
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) { return row + min(128u * step + 32u * p + 4u * i, COLS - 4u) * 4u; }
  static inline device const uchar * word(device const uchar * row, uint, uint, uint) { return row; }
  static inline void join(thread const uint4 * q, thread const uint *, uint, uint, thread f32::run & r) {
    UNROLL for (uint i = 0; i < 8u; ++i) r.v[i] = as_type<float4>(q[i]);
  }
};
