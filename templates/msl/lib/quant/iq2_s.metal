// IQ2_S: 256 elements in 82 bytes: half d, for each 8 elements a byte of the entry of the code book and one of
// signs, for each 32 a byte with the upper two bits of four entries and one with two scales s of 4 bits;
// element = d/8 (2s+1) ±value. A lane takes four or two eights.
template <uint SHARE>
struct iq2_s_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 82u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 82u;
      const uint upper = p[66u + g / 4u], scales = p[74u + g / 4u];
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; i += 2) {
        float pair = 0.0f;
        UNROLL for (ushort k = i; k < i + 2; ++k) {
          pair = add_signed(iq2_eight(iq2_s_book[entry(p[2u + g + k], upper, g + k)]), p[34u + g + k], y[k], pair);
        }
        q = fma(scale(scales, (g + i) / 2u), pair, q);
      }
      sum[r] = fma(half_at(p), q, sum[r]);
    }
  }

  static inline uint entry(uint low, uint upper, uint g) { return low | (upper >> g % 4u * 2u & 3u) << 8; }

  static inline float scale(uint nibbles, uint s) { return float(nibbles >> s % 2u * 4u & 15u) * 0.25f + 0.125f; }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low, signs; uint upper, scales; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 82u;
    const uint s = step % 2u * 4u + p;
    r.low = word_at<2>(at + 2u + 4u * s);
    r.signs = word_at<2>(at + 34u + 4u * s);
    r.upper = at[66u + s];
    r.scales = at[74u + s];
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint e = iq2_s_book[entry(r.low >> 8u * j & 255u, r.upper, j)];
    return centred<64>(signed_bytes(iq2_levels(e >> 4u * u), r.signs >> (8u * j + 4u * u)));
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.d * scale(r.scales, j / 2u), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 82u;
    const uint g = (i & 255u) / 8u;
    const uint e = iq2_s_book[entry(p[2u + g], p[66u + g / 4u], g)];
    return half_at(p) * scale(p[74u + g / 4u], g / 2u) * iq2_value(e, i & 7u, p[34u + g]);
  }
};

typedef iq2_s_by<8> iq2_s;
