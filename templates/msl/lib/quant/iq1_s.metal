// IQ1_S: 256 elements in 50 bytes: half d, for each 8 elements a byte of the entry of the code book, for each 32 two
// bytes with four times 3 upper bits, a scale s of 3 bits and the sign of the shift;
// element = d (2s+1) (value ± 1/8). Values are decoded times 8. A lane takes four or two eights.
template <uint SHARE>
struct iq1_s_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 50u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 50u;
      const uint high = ushort_at(p + 34u + g / 4u * 2u);
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) q = add_iq1(iq1_book[entry(p[2u + g + i], high, g + i)], high > 0x7fffu, y[i], q);
      sum[r] = fma(half_at(p) * scale(high), q, sum[r]);
    }
  }

  static inline uint entry(uint low, uint high, uint g) { return low | (high >> g % 4u * 3u & 7u) << 8; }

  static inline float scale(uint high) { return float(high >> 12 & 7u) * 0.25f + 0.125f; }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low, high; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 50u;
    const uint s = step % 2u * 4u + p;
    r.low = word_at<2>(at + 2u + 4u * s);
    r.high = ushort_at(at + 34u + 2u * s);
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint e = iq1_book[entry(r.low >> 8u * j & 255u, r.high, j)];
    return centred<16>(iq1_levels(e >> 4u * u, r.high > 0x7fffu));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d * scale(r.high), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 50u;
    const uint g = (i & 255u) / 8u, high = ushort_at(p + 34u + g / 4u * 2u);
    const uint e = iq1_book[entry(p[2u + g], high, g)];
    return half_at(p) * scale(high) * (float(iq1_levels(nibble_of(e, i & 7u), high > 0x7fffu) & 255u) - 16.0f);
  }
};

typedef iq1_s_by<8> iq1_s;
