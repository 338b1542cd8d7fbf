// IQ2_XXS: 256 elements in 66 bytes: half d, and for each 32 elements 4 bytes with entries of the code
// book, and a word with four times 7 signs and a scale s of 4 bits; element = d/8 (2s+1) ±value. A lane
// takes four or two eights.
template <uint SHARE>
struct iq2_xxs_by {
  enum { COLUMNS = 256, BYTES = 66, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The entries and signs of a block, and its d.
  template <uint COLS>
  static inline device const uchar * groups(device const uchar * row, uint b) { return field_of<iq2_xxs_by, COLS>(row, b, 2u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq2_xxs_by, COLS>(row, b, 0u, 2u, 64u); }

  struct held { uint entries[EIGHTS]; uint signs; float scale; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS, l = g % 4u;
    const uint2 group = two_words_of(groups<COLS>(row, b) + g / 4u * 8u, apart<iq2_xxs_by, COLS>());
    UNROLL for (uint i = 0; i < EIGHTS; ++i) q.entries[i] = iq2_xxs_book[group.x >> 8u * (l + i) & 255u];
    q.signs = group.y >> 7u * l;
    q.scale = half_at(d_at<COLS>(row, b)) * scale(group.y);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) sum = add_iq2(q.entries[i], even_signs(q.signs >> 7u * i), in.y[i], sum);
    return q.scale * sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq2_xxs_by, N, COLS>(w, x, b, part, sum); }

  static inline float scale(uint signs) { return float(signs >> 28) * 0.25f + 0.125f; }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries, signs; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint2 group = two_words_of(groups<COLS>(row, step / 2u) + (step % 2u * 4u + p) * 8u, apart<iq2_xxs_by, COLS>());
    r.entries = group.x;
    r.signs = group.y;
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint entry = iq2_xxs_book[r.entries >> 8u * j & 255u];
    return iq2_numbers(entry, even_signs(r.signs >> 7u * j), u);
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d * scale(r.signs), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * sub = groups<COLS>(row, i / 256u) + (i & 255u) / 32u * 8u;
    const uint signs = word_at<2>(sub + 4), l = (i & 31u) / 8u;
    return half_at(d_at<COLS>(row, i / 256u)) * scale(signs) * iq2_value(iq2_xxs_book[sub[l]], i & 7u, even_signs(signs >> 7u * l));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq2_xxs_by<SHARE>, N, COLS> : preloaded_lanes<iq2_xxs_by<SHARE>, N, COLS> {};

typedef iq2_xxs_by<8> iq2_xxs;
