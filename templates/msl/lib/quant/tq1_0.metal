// TQ1_0: 256 elements in 54 bytes, digits in base 3 of fractions of 256: of bytes 0 to 31 digit k is element 32k+l,
// of 32 to 47 element 160+16k+l, of 48 to 51 element 240+4k+l; half d; element = d (digit - 1).
// Four neighbours are one digit of four bytes. A lane takes four or two eights.
template <uint SHARE>
struct tq1_0_by {
  enum { COLUMNS = 256, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 54u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint c = part * EIGHTS * 8u;
    eight_floats y[EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + c, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 54u;
      float q = 0.0f;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) q = add_bytes<1>(digits(p, c + 8u * i), digits(p, c + 8u * i + 4u), y[i], q);
      sum[r] = fma(half_at(p + 52), q, sum[r]);
    }
  }

  // The digits of elements i to i+3, a byte each; i is a multiple of 4. The power of 3 moves a digit
  // to just after the point, and 3 moves it before.
  static inline uint digits(device const uchar * p, uint i) {
    const uint from = i < 160u ? 0u : i < 240u ? 160u : 240u, length = i < 160u ? 32u : i < 240u ? 16u : 4u;
    const uint k = (i - from) / length, power = k < 4u ? 0x1b090301u >> 8u * k & 255u : 81u;
    const uint v = word_at<2>(p + (i < 160u ? 0u : i < 240u ? 32u : 48u) + (i - from) % length);
    const uint even = ((v & 0x00ff00ffu) * power & 0x00ff00ffu) * 3u >> 8 & 0x00ff00ffu;
    const uint uneven = ((v >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu) * 3u & 0xff00ff00u;
    return even | uneven;
  }

  // For product.msl: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint q[8]; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 54u;
    UNROLL for (uint i = 0; i < 8u; ++i) r.q[i] = digits(at, step % 2u * 128u + 32u * p + 4u * i);
    r.d = half_at(at + 52);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<1>(r.q[2u * j + u]); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 54u;
    const uint q = digits(p, i & 252u) >> (i & 3u) * 8u & 255u;
    return half_at(p + 52) * (float(q) - 1.0f);
  }
};

typedef tq1_0_by<8> tq1_0;
