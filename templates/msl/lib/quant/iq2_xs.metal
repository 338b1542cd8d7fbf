// IQ2_XS: 256 elements in 74 bytes: half d, for each 8 elements 2 bytes with an entry of the code book (9
// bits) and 7 signs, and 8 bytes with a scale s of 4 bits for each 16; element = d/8 (2s+1) ±value.
// A lane takes four or two eights.
template <uint SHARE>
struct iq2_xs_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 74u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 74u;
      const uint scales = p[66u + g / 4u];
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; i += 2) {
        float pair = 0.0f;
        UNROLL for (ushort k = i; k < i + 2; ++k) {
          const uint e = ushort_at(p + 2u + 2u * (g + k));
          pair = add_signed(iq2_eight(iq2_xs_book[e & 511u]), even_signs(e >> 9), y[k], pair);
        }
        q = fma(scale(scales, (g + i) / 2u), pair, q);
      }
      sum[r] = fma(half_at(p), q, sum[r]);
    }
  }

  static inline float scale(uint nibbles, uint s) { return float(nibbles >> s % 2u * 4u & 15u) * 0.25f + 0.125f; }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries[2]; uint scales; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 74u;
    const uint s = step % 2u * 4u + p;
    r.entries[0] = word_at<2>(at + 2u + 8u * s);
    r.entries[1] = word_at<2>(at + 6u + 8u * s);
    r.scales = at[66u + s];
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint e = r.entries[j / 2u] >> j % 2u * 16u;
    return centred<64>(signed_bytes(iq2_levels(iq2_xs_book[e & 511u] >> 4u * u), even_signs(e >> 9) >> 4u * u));
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.d * scale(r.scales, j / 2u), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 74u;
    const uint j = i & 255u, e = ushort_at(p + 2u + j / 8u * 2u);
    return half_at(p) * scale(p[66u + j / 32u], j / 16u) * iq2_value(iq2_xs_book[e & 511u], i & 7u, even_signs(e >> 9));
  }
};

typedef iq2_xs_by<8> iq2_xs;
