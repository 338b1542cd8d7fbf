// IQ3_XXS: 256 elements in 98 bytes: half d, for each 4 elements a byte with an entry of the code book, for each
// 32 a word with four times 7 signs and a scale s of 4 bits; element = d/4 (2s+1) ±value. A lane takes
// four or two eights.
template <uint SHARE>
struct iq3_xxs_by {
  enum { COLUMNS = 256, BYTES = 98, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The entries of a block, its signs with the scales, and d.
  template <uint COLS>
  static inline device const uchar * entries_at(device const uchar * row, uint b) { return field_of<iq3_xxs_by, COLS>(row, b, 2u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * signs_at(device const uchar * row, uint b) { return field_of<iq3_xxs_by, COLS>(row, b, 66u, 32u, 64u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq3_xxs_by, COLS>(row, b, 0u, 2u, 96u); }

  // A lane with two eights holds its four entries. With four eights it holds their numbers, because entries
  // would take too many registers.
  struct held { uint q[4], signs; float scale; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) q.q[i] = word_of(entries_at<COLS>(row, b) + 2u * g + 4u * i, apart<iq3_xxs_by, COLS>());
    const uint signs = word_of(signs_at<COLS>(row, b) + g / 4u * 4u, apart<iq3_xxs_by, COLS>());
    q.signs = signs >> 7u * (g % 4u);
    q.scale = half_at(d_at<COLS>(row, b)) * scale(signs);
    const uint numbers = q.q[0];
    if (EIGHTS == 2) UNROLL for (uint i = 0; i < 4u; ++i) q.q[i] = iq3_xxs_book[numbers >> 8u * i & 255u];
  }

  static inline uint four(thread const held & q, uint i) { return EIGHTS == 2 ? q.q[i] : iq3_xxs_book[q.q[i / 4u] >> i % 4u * 8u & 255u]; }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) {
      uint2 m;
      m.x = four(q, 2u * i);
      m.y = four(q, 2u * i + 1u);
      sum = add_signed<64>(m, even_signs(q.signs >> 7u * i), in.y[i], sum);
    }
    return q.scale * sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq3_xxs_by, N, COLS>(w, x, b, part, sum); }

  static inline float scale(uint signs) { return float(signs >> 28) * 0.5f + 0.25f; }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries[2]; uint signs; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint s = step % 2u * 4u + p;
    const uint2 entries = two_words_of(entries_at<COLS>(row, step / 2u) + 8u * s, apart<iq3_xxs_by, COLS>());
    r.entries[0] = entries.x;
    r.entries[1] = entries.y;
    r.signs = word_of(signs_at<COLS>(row, step / 2u) + 4u * s, apart<iq3_xxs_by, COLS>());
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint entry = r.entries[j / 2u] >> (j % 2u * 16u + 8u * u) & 255u;
    return centred<64>(signed_bytes(iq3_xxs_book[entry], even_signs(r.signs >> 7u * j) >> 4u * u));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d * scale(r.signs), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, j = i & 255u, signs = word_at<2>(signs_at<COLS>(row, b) + j / 32u * 4u);
    return half_at(d_at<COLS>(row, b)) * scale(signs) * byte_value(iq3_xxs_book[entries_at<COLS>(row, b)[j / 4u]], i & 7u, even_signs(signs >> 7u * (j / 8u % 4u)));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq3_xxs_by<SHARE>, N, COLS> : preloaded_lanes<iq3_xxs_by<SHARE>, N, COLS> {};

typedef iq3_xxs_by<8> iq3_xxs;
