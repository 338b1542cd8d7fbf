// IQ3_S: 256 elements in 110 bytes: half d, for each 4 elements a byte of the entry of the code book, for each 32
// a byte with the ninth bits of eight entries, a byte of signs for each 8, and 4 bytes with a scale s of
// 4 bits for each 32; element = d (2s+1) ±value. A lane takes four or two eights.
template <uint SHARE>
struct iq3_s_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 110u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 110u;
      const uint ninth = p[66u + g / 4u];
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) {
        const uint e = ushort_at(p + 2u + 2u * (g + i)), n = 2u * (g % 4u + i);
        uint2 m;
        m.x = iq3_s_book[entry(e & 255u, ninth, n)];
        m.y = iq3_s_book[entry(e >> 8, ninth, n + 1u)];
        q = add_signed(m, p[74u + g + i], y[i], q);
      }
      sum[r] = fma(half_at(p) * scale(p, g / 4u), q, sum[r]);
    }
  }

  static inline uint entry(uint low, uint ninth, uint n) { return low | (ninth >> n & 1u) << 8; }

  static inline float scale(device const uchar * p, uint s) { return float((p[106u + s / 2u] >> s % 2u * 4u & 15u) * 2u + 1u); }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low[2]; uint signs, ninth; float scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 110u;
    const uint s = step % 2u * 4u + p;
    r.low[0] = word_at<2>(at + 2u + 8u * s);
    r.low[1] = word_at<2>(at + 6u + 8u * s);
    r.signs = word_at<2>(at + 74u + 4u * s);
    r.ninth = at[66u + s];
    r.scale = half_at(at) * scale(at, s);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint low = r.low[j / 2u] >> (j % 2u * 16u + 8u * u) & 255u;
    return centred<64>(signed_bytes(iq3_s_book[entry(low, r.ninth, 2u * j + u)], r.signs >> (8u * j + 4u * u)));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.scale, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 110u;
    const uint j = i & 255u, e = entry(p[2u + j / 4u], p[66u + j / 32u], j / 4u % 8u);
    return half_at(p) * scale(p, j / 32u) * byte_value(iq3_s_book[e], i & 7u, p[74u + j / 8u]);
  }
};

typedef iq3_s_by<8> iq3_s;
