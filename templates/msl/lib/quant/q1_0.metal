// Q1_0: 128 elements in 18 bytes: half d, a bit for each element; element = d where it is set, else -d.
// A lane takes 32 elements, or 16.
template <uint SHARE>
struct q1_0_by {
  enum { COLUMNS = 128, BYTES = 18, EIGHTS = 16 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 128u) * BYTES); }

  // The bits of a block, and d.
  template <uint COLS>
  static inline device const uchar * bits_at(device const uchar * row, uint b) { return field_of<q1_0_by, COLS>(row, b, 2u, 16u, 0u); }

  template <uint COLS>
  static inline device const uchar * d_at(device const uchar * row, uint b) { return field_of<q1_0_by, COLS>(row, b, 0u, 2u, 16u); }

  struct held { uint bits; half d; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    device const uchar * at = bits_at<COLS>(row, b) + EIGHTS * part;
    q.bits = EIGHTS == 2 ? ushort_at(at) : word_of(at, apart<q1_0_by, COLS>());
    q.d = *(device const half *)d_at<COLS>(row, b);
  }

  // A set bit makes the half -1, but the element is d, so the sum must be negated.
  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) {
    float sum = 0.0f;
    const half2 one = half2(unit_of<1>(in.y[0]));
    UNROLL for (uint i = 0; i < EIGHTS; ++i) sum = add_signed_products<1>(one, one, one, one, q.bits >> 8u * i & 255u, in.y[i], sum);
    return -float(q.d) * sum;
  }

  template <typename X> struct inputs { typename X::eight y[EIGHTS]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_rows<EIGHTS>(x, 128u * b + 8u * EIGHTS * part, in.y); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<q1_0_by, N, COLS>(w, x, b, part, sum); }

  // Turns bits 0 to 3 of a number into 4 bytes of 1 or 3, which count from 2.
  static inline uint ones(uint bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) * 2u + 0x01010101u; }

  // For product.metal: lane p of four decodes 32 columns of a step, a block.
  struct run { uint bits; float d; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    r.bits = word_of(bits_at<COLS>(row, step) + 4u * p, apart<q1_0_by, COLS>());
    r.d = half_at(d_at<COLS>(row, step));
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<2>(ones(r.bits >> (8u * j + 4u * u))); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(r.d, 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const float d = half_at(d_at<COLS>(row, i / 128u));
    return bits_at<COLS>(row, i / 128u)[(i & 127u) / 8u] >> (i & 7u) & 1u ? d : -d;
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<q1_0_by<SHARE>, N, COLS> : preloaded_lanes<q1_0_by<SHARE>, N, COLS> {};

typedef q1_0_by<4> q1_0;
