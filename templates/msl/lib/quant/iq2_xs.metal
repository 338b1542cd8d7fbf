// IQ2_XS: 256 elements in 74 bytes: half d, for each 8 elements 2 bytes with an entry of the code book (9
// bits) and 7 signs, and 8 bytes with a scale s of 4 bits for each 16; element = d/8 (2s+1) ±value.
// A lane takes four or two eights.
template <uint SHARE>
struct iq2_xs_by {
  enum { COLUMNS = 256, BYTES = 74, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The entries with their signs of a block, its scales and d.
  template <uint COLS>
  static inline device const uchar * groups(device const uchar * row, uint b) { return field_of<iq2_xs_by, COLS>(row, b, 2u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * scales_at(device const uchar * row, uint b) { return field_of<iq2_xs_by, COLS>(row, b, 66u, 8u, 64u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq2_xs_by, COLS>(row, b, 0u, 2u, 72u); }

  struct held { uint entries[EIGHTS], groups[EIGHTS / 2]; float scales[EIGHTS / 2]; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    const uint nibbles = scales_at<COLS>(row, b)[g / 4u];
    const float d = half_at(d_at<COLS>(row, b));
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) {
      q.groups[i] = word_of(groups<COLS>(row, b) + 2u * g + 4u * i, apart<iq2_xs_by, COLS>());
      q.entries[2 * i] = iq2_xs_book[q.groups[i] & 511u];
      q.entries[2 * i + 1] = iq2_xs_book[q.groups[i] >> 16 & 511u];
      q.scales[i] = d * scale(nibbles, g / 2u + i);
    }
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) {
      const float pair = add_iq2(q.entries[2 * i], even_signs(q.groups[i] >> 9), in.y[2 * i], 0.0f);
      sum = fma(q.scales[i], add_iq2(q.entries[2 * i + 1], even_signs(q.groups[i] >> 25), in.y[2 * i + 1], pair), sum);
    }
    return sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq2_xs_by, N, COLS>(w, x, b, part, sum); }

  static inline float scale(uint nibbles, uint s) { return float(nibbles >> s % 2u * 4u & 15u) * 0.25f + 0.125f; }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint entries[2]; uint scales; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint s = step % 2u * 4u + p;
    const uint2 group = two_words_of(groups<COLS>(row, step / 2u) + 8u * s, apart<iq2_xs_by, COLS>());
    r.entries[0] = group.x;
    r.entries[1] = group.y;
    r.scales = scales_at<COLS>(row, step / 2u)[s];
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint e = r.entries[j / 2u] >> j % 2u * 16u;
    return iq2_numbers(iq2_xs_book[e & 511u], even_signs(e >> 9), u);
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.d * scale(r.scales, j / 2u), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, j = i & 255u, e = ushort_at(groups<COLS>(row, b) + j / 8u * 2u);
    return half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b)[j / 32u], j / 16u) * iq2_value(iq2_xs_book[e & 511u], i & 7u, even_signs(e >> 9));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq2_xs_by<SHARE>, N, COLS> : preloaded_lanes<iq2_xs_by<SHARE>, N, COLS> {};

typedef iq2_xs_by<8> iq2_xs;
