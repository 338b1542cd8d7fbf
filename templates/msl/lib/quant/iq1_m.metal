// IQ1_M: 256 elements in 56 bytes: for each 8 elements a byte of the entry of the code book of IQ1_S and a nibble with
// its upper 3 bits and the sign of the shift, and 8 bytes with a scale s of 3 bits for each 16 and, in the
// upper nibbles of four words, half d; element = d (2s+1) (value ± 1/8). Values are decoded times 8. A lane
// takes four or two eights. Blocks are 8-byte aligned.
template <uint SHARE>
struct iq1_m_by {
  enum { COLUMNS = 256, BYTES = 56, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * BYTES; }

  struct held { uint entries[EIGHTS], high; float scales[EIGHTS / 2]; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    const uint g = part * EIGHTS;
    device const uchar * p = row + b * BYTES;
    const uint low = EIGHTS == 2 ? ushort_at(p + g) : word_at<4>(p + g);
    const uint2 scales = *(device const uint2 *)(p + 48);
    q.high = ushort_at(p + 32u + g / 4u * 2u) >> g % 4u * 4u;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) q.entries[i] = iq1_book[entry(low >> 8u * i & 255u, q.high, i)];
    const float d = d_of(scales);
    UNROLL for (uint i = 0; i < EIGHTS / 2; ++i) q.scales[i] = d * scale(scales, g / 2u + i);
  }

  // The shift of eight elements multiplies the sum of their inputs.
  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; i += 2) {
      const float pair = add_iq1(q.entries[i + 1], in.y[i + 1], add_iq1(q.entries[i], in.y[i], 0.0f));
      const float first = minus(q.high, i) ? -in.sums[i] : in.sums[i], second = minus(q.high, i + 1u) ? -in.sums[i + 1] : in.sums[i + 1];
      sum = fma(q.scales[i / 2], fma(8.0f, pair, first + second), sum);
    }
    return sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; float sums[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y);
    UNROLL for (ushort i = 0; i < EIGHTS; ++i) in.sums[i] = sum_of_eights<1>(in.y + i);
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<iq1_m_by, N, COLS>(w, x, b, part, sum); }

  static inline uint entry(uint low, uint high, uint g) { return low | (high >> g % 4u * 4u & 7u) << 8; }

  static inline bool minus(uint high, uint g) { return (high >> g % 4u * 4u & 8u) != 0u; }

  static inline float d_of(uint2 scales) {
    return low_half((scales.x >> 12 & 0xfu) | (scales.x >> 24 & 0xf0u) | (scales.y >> 4 & 0xf00u) | (scales.y >> 16 & 0xf000u));
  }

  // (2s+1)/8 for the scale s of 16 elements: values are decoded times 8.
  static inline float scale(uint2 scales, uint s) {
    const uint word = s < 8u ? scales.x : scales.y;
    return float(word >> (s / 4u % 2u * 16u + s % 4u * 3u) & 7u) * 0.25f + 0.125f;
  }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint low, high; float scale[2]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 56u;
    const uint s = step % 2u * 4u + p;
    const uint2 scales = *(device const uint2 *)(at + 48);
    r.low = word_at<4>(at + 4u * s);
    r.high = ushort_at(at + 32u + 2u * s);
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = d_of(scales) * scale(scales, 2u * s + i);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return iq1_numbers(iq1_book[entry(r.low >> 8u * j & 255u, r.high, j)], u);
  }

  static inline float2 scaling(thread const run & r, uint j) {
    const float shift = r.scale[j / 2u];
    return two_floats(8.0f * shift, minus(r.high, j) ? -shift : shift);
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 56u;
    const uint g = (i & 255u) / 8u, high = ushort_at(p + 32u + g / 4u * 2u);
    const uint2 scales = *(device const uint2 *)(p + 48);
    const uint e = iq1_book[entry(p[g], high, g)];
    return d_of(scales) * scale(scales, g / 2u) * (8.0f * float(code_of(e, i & 7u)) - (minus(high, g) ? 9.0f : 7.0f));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<iq1_m_by<SHARE>, N, COLS> : preloaded_lanes<iq1_m_by<SHARE>, N, COLS> {};

typedef iq1_m_by<8> iq1_m;
