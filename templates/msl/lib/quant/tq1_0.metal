// TQ1_0: 256 elements in 54 bytes, digits in base 3 of fractions of 256: of bytes 0 to 31 digit k is element 32k+l,
// of 32 to 47 element 160+16k+l, of 48 to 51 element 240+4k+l; half d; element = d (digit - 1).
// Four neighbours are one digit of four bytes. A lane takes four or two eights.
template <uint SHARE>
struct tq1_0_by {
  enum { COLUMNS = 256, BYTES = 54, EIGHTS = 32 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * BYTES); }

  // The bytes with five digits of a block, those with four, and d.
  template <uint COLS>
  static inline device const uchar * fives_at(device const uchar * row, uint b) { return field_of<tq1_0_by, COLS>(row, b, 0u, 48u, 0u); }

  template <uint COLS>
  static inline device const uchar * fours_at(device const uchar * row, uint b) { return field_of<tq1_0_by, COLS>(row, b, 48u, 4u, 48u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<tq1_0_by, COLS>(row, b, 52u, 2u, 52u); }

  struct held { uint q[2 * EIGHTS]; half d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    UNROLL for (uint i = 0; i < 2 * EIGHTS; ++i) q.q[i] = digits<COLS>(row, b, part * EIGHTS * 8u + 4u * i);
    q.d = *(device const half *)d_at<COLS>(row, b);
  }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    UNROLL for (uint i = 0; i < EIGHTS; ++i) sum = add_bytes<1>(q.q[2 * i], q.q[2 * i + 1], in.y[i], sum);
    return float(q.d) * sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 256u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<tq1_0_by, N, COLS>(w, x, b, part, sum); }

  // The digits of elements i to i+3 of block b, a byte each; i is a multiple of 4. The power of 3 moves a digit
  // to just after the point, and 3 moves it before.
  template <uint COLS>
  static inline uint digits(device const uchar * row, uint b, uint i) {
    const uint from = i < 160u ? 0u : i < 240u ? 160u : 240u, length = i < 160u ? 32u : i < 240u ? 16u : 4u;
    const uint k = (i - from) / length, power = k < 4u ? 0x1b090301u >> 8u * k & 255u : 81u;
    device const uchar * bytes = i < 240u ? fives_at<COLS>(row, b) + (i < 160u ? 0u : 32u) : fours_at<COLS>(row, b);
    const uint v = word_of(bytes + (i - from) % length, apart<tq1_0_by, COLS>());
    const uint even = ((v & 0x00ff00ffu) * power & 0x00ff00ffu) * 3u >> 8 & 0x00ff00ffu;
    const uint uneven = ((v >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu) * 3u & 0xff00ff00u;
    return even | uneven;
  }

  // For product.metal: lane p of four decodes 32 columns of a step, half a block.
  struct run { uint q[8]; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    UNROLL for (uint i = 0; i < 8u; ++i) r.q[i] = digits<COLS>(row, step / 2u, step % 2u * 128u + 32u * p + 4u * i);
    r.d = half_at(d_at<COLS>(row, step / 2u));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<1>(r.q[2u * j + u]); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint q = digits<COLS>(row, i / 256u, i & 252u) >> (i & 3u) * 8u & 255u;
    return half_at(d_at<COLS>(row, i / 256u)) * (float(q) - 1.0f);
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<tq1_0_by<SHARE>, N, COLS> : preloaded_lanes<tq1_0_by<SHARE>, N, COLS> {};

typedef tq1_0_by<8> tq1_0;
