// IQ1_S: 256 elements in 50 bytes: half d, for each 8 elements a byte of the entry of the code book, for each 32 two
// bytes with four times 3 upper bits, a scale s of 3 bits and the sign of the shift;
// element = d (2s+1) (value ± 1/8). Values are decoded times 8. A lane takes four or two eights.
template <uint SHARE>
struct iq1_s_by {
  enum { COLUMNS = 256, BYTES = 50, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The lower bits of the entries of a block, its words with the upper ones, and d.
  template <uint COLS>
  static inline device const uchar * entries_at(device const uchar * row, uint b) { return field_of<iq1_s_by, COLS>(row, b, 2u, 32u, 0u); }

  template <uint COLS>
  static inline device const uchar * high_at(device const uchar * row, uint b) { return field_of<iq1_s_by, COLS>(row, b, 34u, 16u, 32u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<iq1_s_by, COLS>(row, b, 0u, 2u, 48u); }

  struct held { uint entries[EIGHTS]; float scale, shift; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    device const uchar * at = entries_at<COLS>(row, b) + g;
    const uint low = EIGHTS == 2 ? ushort_at(at) : word_of(at, apart<iq1_s_by, COLS>());
    const uint high = ushort_at(high_at<COLS>(row, b) + g / 4u * 2u);
    UNROLL for (uint i = 0; i < EIGHTS; ++i) q.entries[i] = iq1_book[entry(low >> 8u * i & 255u, high, g + i)];
    q.scale = half_at(d_at<COLS>(row, b)) * scale(high);
    q.shift = high > 0x7fffu ? -q.scale : q.scale;
  }

  // The shift of all elements multiplies the sum of their inputs.
  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) sum = add_iq1(q.entries[i], in.y[i], sum);
    return fma(8.0f * q.scale, sum, q.shift * in.sum);
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; float sum; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y);
    in.sum = sum_of_eights<EIGHTS>(in.y);
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq1_s_by, N, COLS>(w, x, b, part, sum); }

  static inline uint entry(uint low, uint high, uint g) { return low | (high >> g % 4u * 3u & 7u) << 8; }

  static inline float scale(uint high) { return float(high >> 12 & 7u) * 0.25f + 0.125f; }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low, high; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = step / 2u, s = step % 2u * 4u + p;
    r.low = word_of(entries_at<COLS>(row, b) + 4u * s, apart<iq1_s_by, COLS>());
    r.high = ushort_at(high_at<COLS>(row, b) + 2u * s);
    r.d = half_at(d_at<COLS>(row, b));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return iq1_numbers(iq1_book[entry(r.low >> 8u * j & 255u, r.high, j)], u);
  }

  static inline float2 scaling(thread const run & r, uint) {
    const float shift = r.d * scale(r.high);
    return two_floats(8.0f * shift, r.high > 0x7fffu ? -shift : shift);
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint b = i / 256u, g = (i & 255u) / 8u, high = ushort_at(high_at<COLS>(row, b) + g / 4u * 2u);
    const uint e = iq1_book[entry(entries_at<COLS>(row, b)[g], high, g)];
    return half_at(d_at<COLS>(row, b)) * scale(high) * (8.0f * float(code_of(e, i & 7u)) - (high > 0x7fffu ? 9.0f : 7.0f));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq1_s_by<SHARE>, N, COLS> : preloaded_lanes<iq1_s_by<SHARE>, N, COLS> {};

typedef iq1_s_by<8> iq1_s;
