// Q5_1: 32 elements in 24 bytes: half d, half m, 32 fifth bits, 16 bytes of nibbles;
// element = d q + m. Blocks are 4-byte aligned.
struct q5_1 {
  enum { COLUMNS = 32 };

  static inline uint share(uint) { return 4u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 32u) * 24u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    typename X::eight y;
    load_eight(x, b * 32u + 4u * part, b * 32u + 16u + 4u * part, y);
    const float ysum = sum_of_eights<1>(&y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uint * p = (device const uint *)(w + r * row_bytes(COLS) + b * 24u);
      const uint head = p[0], bits = p[1];
      const float q = add_fives(p[2u + part], bits >> 4u * part, bits >> (16u + 4u * part), y, 16.0f * ysum);
      sum[r] = fma(low_half(head), q, fma(high_half(head), ysum, sum[r]));
    }
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q; uint head, fifths; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + min(4u * step + p, COLS / 32u - 1u) * 24u;
    r.head = word_at<4>(at);
    r.fifths = word_at<4>(at + 4);
    r.q = sixteen_at(at + 8, 8u);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return centred<16>(nibbles_of(r.q[j % 2u * 2u + u], j) | fifth_bits(r.fifths >> (8u * j + 4u * u)));
  }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(low_half(r.head), fma(16.0f, low_half(r.head), high_half(r.head))); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 32u) * 24u;
    const uint j = i & 31u;
    const uint bit = ushort_at(p + 4 + (j / 16u) * 2u) >> (j & 15u) & 1u;
    return fma(half_at(p), float(nibble(p + 8, j) | bit << 4), half_at(p + 2));
  }
};

template <uint COLS>
struct lane_words<q5_1, COLS> : own_sixteens {
  enum : uint { SIXTEENS = 1, WORDS = 2, SHARERS = 1, ALIGN = 8 };
  static inline device const uchar * word(device const uchar * row, uint step, uint p, uint i) { return row + min(4u * step + p, COLS / 32u - 1u) * 24u + 4u * i; }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint) { return word(row, step, p, 2u); }
  static inline void join(thread const uint4 * q, thread const uint * w, uint, uint, thread q5_1::run & r) {
    r.q = q[0];
    r.head = w[0];
    r.fifths = w[1];
  }
};
