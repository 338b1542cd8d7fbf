// IQ2_S: 256 elements in 82 bytes: half d, for each 8 elements a byte of the entry of the code book and one of
// signs, for each 32 a byte with the upper two bits of four entries and one with two scales s of 4 bits;
// element = d/8 (2s+1) ±value. A lane takes four or two eights.
template <uint SHARE>
struct iq2_s_by {
  enum { COLUMNS = 256, BYTES = 82, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The lower bits of the entries of a block and, 32 bytes later, its signs; the upper bits and, 8 bytes later, its scales; d.
  template <uint COLS>
  static inline device const uchar * groups(device const uchar * row, uint b) { return field_of<iq2_s_by, COLS>(row, b, 2u, 64u, 0u); }

  template <uint COLS>
  static inline device const uchar * upper_at(device const uchar * row, uint b) { return field_of<iq2_s_by, COLS>(row, b, 66u, 16u, 64u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq2_s_by, COLS>(row, b, 0u, 2u, 80u); }

  struct held { uint entries[EIGHTS], signs; float scales[EIGHTS / 2]; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    device const uchar * at = groups<COLS>(row, b) + g;
    device const uchar * upper = upper_at<COLS>(row, b) + g / 4u;
    const uint high = upper[0], nibbles = upper[8], low = bytes_at(at, apart<iq2_s_by, COLS>());
    q.signs = bytes_at(at + 32, apart<iq2_s_by, COLS>());
    UNROLL for (uint i = 0; i < EIGHTS; ++i) q.entries[i] = iq2_s_book[entry(low >> 8u * i & 255u, high, g + i)];
    const float d = half_at(d_at<COLS>(row, b));
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) q.scales[i] = d * scale(nibbles, g / 2u + i);
  }

  // A byte for each eight.
  static inline uint bytes_at(device const uchar * p, bool aligned) { return EIGHTS == 2 ? ushort_at(p) : word_of(p, aligned); }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; i += 2) {
      const float pair = add_iq2(q.entries[i], q.signs >> 8u * i & 255u, in.y[i], 0.0f);
      sum = fma(q.scales[i / 2], add_iq2(q.entries[i + 1], q.signs >> (8u * i + 8u) & 255u, in.y[i + 1], pair), sum);
    }
    return sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq2_s_by, N, COLS>(w, x, b, part, sum); }

  static inline uint entry(uint low, uint upper, uint g) { return low | (upper >> g % 4u * 2u & 3u) << 8; }

  static inline float scale(uint nibbles, uint s) { return float(nibbles >> s % 2u * 4u & 15u) * 0.25f + 0.125f; }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low, signs; uint upper, scales; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint s = step % 2u * 4u + p;
    device const uchar * at = groups<COLS>(row, step / 2u) + 4u * s;
    r.low = word_of(at, apart<iq2_s_by, COLS>());
    r.signs = word_of(at + 32, apart<iq2_s_by, COLS>());
    r.upper = upper_at<COLS>(row, step / 2u)[s];
    r.scales = upper_at<COLS>(row, step / 2u)[8u + s];
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint e = iq2_s_book[entry(r.low >> 8u * j & 255u, r.upper, j)];
    return iq2_numbers(e, r.signs >> 8u * j & 255u, u);
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.d * scale(r.scales, j / 2u), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, g = (i & 255u) / 8u;
    device const uchar * at = groups<COLS>(row, b) + g;
    device const uchar * upper = upper_at<COLS>(row, b) + g / 4u;
    return half_at(d_at<COLS>(row, b)) * scale(upper[8], g / 2u) * iq2_value(iq2_s_book[entry(at[0], upper[0], g)], i & 7u, at[32]);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq2_s_by<SHARE>, N, COLS> : preloaded_lanes<iq2_s_by<SHARE>, N, COLS> {};

typedef iq2_s_by<8> iq2_s;
