// IQ3_XXS: 256 elements in 98 bytes: half d, for each 4 elements a byte with an entry of the code book, for each
// 32 a word with four times 7 signs and a scale s of 4 bits; element = d/4 (2s+1) ±value. A lane takes
// four or two eights.
template <uint SHARE>
struct iq3_xxs_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 98u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint g = part * EIGHTS; // of eights
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + 8u * g, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 98u;
      const uint signs = word_at<2>(p + 66u + g / 4u * 4u);
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) {
        const uint e = ushort_at(p + 2u + 2u * (g + i));
        uint2 m;
        m.x = iq3_xxs_book[e & 255u];
        m.y = iq3_xxs_book[e >> 8];
        q = add_signed(m, even_signs(signs >> 7u * (g % 4u + i)), y[i], q);
      }
      sum[r] = fma(half_at(p) * scale(signs), q, sum[r]);
    }
  }

  static inline float scale(uint signs) { return float(signs >> 28) * 0.5f + 0.25f; }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries[2]; uint signs; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 98u;
    const uint s = step % 2u * 4u + p;
    r.entries[0] = word_at<2>(at + 2u + 8u * s);
    r.entries[1] = word_at<2>(at + 6u + 8u * s);
    r.signs = word_at<2>(at + 66u + 4u * s);
    r.d = half_at(at);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint entry = r.entries[j / 2u] >> (j % 2u * 16u + 8u * u) & 255u;
    return centred<64>(signed_bytes(iq3_xxs_book[entry], even_signs(r.signs >> 7u * j) >> 4u * u));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d * scale(r.signs), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 98u;
    const uint j = i & 255u, signs = word_at<2>(p + 66u + j / 32u * 4u);
    return half_at(p) * scale(signs) * byte_value(iq3_xxs_book[p[2u + j / 4u]], i & 7u, even_signs(signs >> 7u * (j / 8u % 4u)));
  }
};

typedef iq3_xxs_by<8> iq3_xxs;
