// IQ2_XXS: 256 elements in 66 bytes: half d, and for each 32 elements 4 bytes with entries of the code
// book, and a word with four times 7 signs and a scale s of 4 bits; element = d/8 (2s+1) ±value. A lane
// takes four or two eights.
template <uint SHARE>
struct iq2_xxs_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 66u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 66u;
      device const uchar * sub = p + 2u + g / 4u * 8u;
      const uint signs = word_at<2>(sub + 4);
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) {
        const uint l = g % 4u + i;
        q = add_signed(iq2_eight(iq2_xxs_book[sub[l]]), even_signs(signs >> 7u * l), y[i], q);
      }
      sum[r] = fma(half_at(p) * scale(signs), q, sum[r]);
    }
  }

  static inline float scale(uint signs) { return float(signs >> 28) * 0.25f + 0.125f; }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries, signs; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 66u;
    device const uchar * sub = at + 2u + (step % 2u * 4u + p) * 8u;
    r.entries = word_at<2>(sub);
    r.signs = word_at<2>(sub + 4);
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint entry = iq2_xxs_book[r.entries >> 8u * j & 255u];
    return centred<64>(signed_bytes(iq2_levels(entry >> 4u * u), even_signs(r.signs >> 7u * j) >> 4u * u));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d * scale(r.signs), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 66u;
    device const uchar * sub = p + 2u + (i & 255u) / 32u * 8u;
    const uint signs = word_at<2>(sub + 4), l = (i & 31u) / 8u;
    return half_at(p) * scale(signs) * iq2_value(iq2_xxs_book[sub[l]], i & 7u, even_signs(signs >> 7u * l));
  }
};

typedef iq2_xxs_by<8> iq2_xxs;
