// IQ3_S: 256 elements in 110 bytes: half d, for each 4 elements a byte of the entry of the code book, for each 32
// a byte with the ninth bits of eight entries, a byte of signs for each 8, and 4 bytes with a scale s of
// 4 bits for each 32; element = d (2s+1) ±value. A lane takes four or two eights.
template <uint SHARE>
struct iq3_s_by {
  enum { COLUMNS = 256, BYTES = 110, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The lower bits of the entries of a block, its signs, the ninth bits, its scales and d.
  template <uint COLS>
  static inline device const uchar * entries_at(device const uchar * row, uint b) { return field_of<iq3_s_by, COLS>(row, b, 2u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * signs_at(device const uchar * row, uint b) { return field_of<iq3_s_by, COLS>(row, b, 74u, 32u, 64u); }

  template <uint COLS>
  static inline device const uchar * ninth_at(device const uchar * row, uint b) { return field_of<iq3_s_by, COLS>(row, b, 66u, 8u, 96u); }

  template <uint COLS>
  static inline device const uchar * scales_at(device const uchar * row, uint b) { return field_of<iq3_s_by, COLS>(row, b, 106u, 4u, 104u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq3_s_by, COLS>(row, b, 0u, 2u, 108u); }

  // A lane with two eights holds its four entries. With four eights it holds their numbers, because entries
  // would take too many registers.
  struct held { uint q[4], signs; float scale; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    const bool aligned = apart<iq3_s_by, COLS>();
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) q.q[i] = word_of(entries_at<COLS>(row, b) + 2u * g + 4u * i, aligned);
    q.q[2] = ninth_at<COLS>(row, b)[g / 4u] >> 2u * (g % 4u);
    device const uchar * signs = signs_at<COLS>(row, b) + g;
    q.signs = EIGHTS == 2 ? ushort_at(signs) : word_of(signs, aligned);
    q.scale = half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b), g / 4u);
    const uint low = q.q[0], ninth = q.q[2];
    if (EIGHTS == 2) UNROLL for (uint i = 0; i < 4u; ++i) q.q[i] = iq3_s_book[entry(low >> 8u * i & 255u, ninth, i)];
  }

  static inline uint four(thread const held & q, uint i) {
    return EIGHTS == 2 ? q.q[i] : iq3_s_book[entry(q.q[i / 4u] >> i % 4u * 8u & 255u, q.q[2], i)];
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) {
      uint2 m;
      m.x = four(q, 2u * i);
      m.y = four(q, 2u * i + 1u);
      sum = add_signed<16>(m, q.signs >> 8u * i & 255u, in.y[i], sum);
    }
    return q.scale * sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq3_s_by, N, COLS>(w, x, b, part, sum); }

  static inline uint entry(uint low, uint ninth, uint n) { return low | (ninth >> n & 1u) << 8; }

  static inline float scale(device const uchar * scales, uint s) { return float((scales[s / 2u] >> s % 2u * 4u & 15u) * 2u + 1u); }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low[2]; uint signs, ninth; float scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = step / 2u, s = step % 2u * 4u + p;
    const uint2 low = two_words_of(entries_at<COLS>(row, b) + 8u * s, apart<iq3_s_by, COLS>());
    r.low[0] = low.x;
    r.low[1] = low.y;
    r.signs = word_of(signs_at<COLS>(row, b) + 4u * s, apart<iq3_s_by, COLS>());
    r.ninth = ninth_at<COLS>(row, b)[s];
    r.scale = half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b), s);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint low = r.low[j / 2u] >> (j % 2u * 16u + 8u * u) & 255u;
    return centred<64>(signed_bytes(iq3_s_book[entry(low, r.ninth, 2u * j + u)], r.signs >> (8u * j + 4u * u)));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.scale, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, j = i & 255u, e = entry(entries_at<COLS>(row, b)[j / 4u], ninth_at<COLS>(row, b)[j / 32u], j / 4u % 8u);
    return half_at(d_at<COLS>(row, b)) * scale(scales_at<COLS>(row, b), j / 32u) * byte_value(iq3_s_book[e], i & 7u, signs_at<COLS>(row, b)[j / 8u]);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq3_s_by<SHARE>, N, COLS> : preloaded_lanes<iq3_s_by<SHARE>, N, COLS> {};

typedef iq3_s_by<8> iq3_s;
