// Q4_1: 32 elements in 20 bytes: half d, half m, 16 bytes of nibbles; element = d nibble + m.
// Blocks are 4-byte aligned.
struct q4_1 {
  enum { COLUMNS = 32 };

  static inline uint share(uint) { return 4u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 32u) * 20u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    typename X::eight y;
    load_eight(x, b * 32u + 4u * part, b * 32u + 16u + 4u * part, y);
    const float ysum = sum_of_eights<1>(&y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uint * p = (device const uint *)(w + r * row_bytes(COLS) + b * 20u);
      const uint head = p[0];
      sum[r] = fma(low_half(head), add_nibbles(p[1u + part], y, 8.0f * ysum), fma(high_half(head), ysum, sum[r]));
    }
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q; uint head; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + min(4u * step + p, COLS / 32u - 1u) * 20u;
    r.head = word_at<4>(at);
    r.q = sixteen_at(at + 4, 4u);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<8>(nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(low_half(r.head), fma(8.0f, low_half(r.head), high_half(r.head))); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 32u) * 20u;
    return fma(half_at(p), float(nibble(p + 4, i & 31u)), half_at(p + 2));
  }
};

template <uint COLS>
struct lane_words<q4_1, COLS> : own_sixteens {
  enum : uint { SIXTEENS = 1, WORDS = 1, SHARERS = 1, ALIGN = 4 };
  static inline device const uchar * word(device const uchar * row, uint step, uint p, uint) { return row + min(4u * step + p, COLS / 32u - 1u) * 20u; }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) { return word(row, step, p, i) + 4; }
  static inline void join(thread const uint4 * q, thread const uint * w, uint, uint, thread q4_1::run & r) {
    r.q = q[0];
    r.head = w[0];
  }
};
