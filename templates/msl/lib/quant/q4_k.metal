// Q4_K: 256 elements in 144 bytes: half d, half dmin, 12 bytes with 8 scales and minima of
// 6 bits, 128 bytes of nibbles; element = d scale nibble - dmin min.
// A lane takes 128 / SHARE bytes of nibbles, of two sub-blocks a half or a quarter. Blocks are
// 16-byte aligned.
template <uint SHARE>
struct q4_k_by {
  enum { COLUMNS = 256, BYTES = 128 / SHARE, EIGHTS = BYTES / 8 };
  typedef typename words_of<BYTES>::type words;

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 144u; }

  // A lane's inputs of a block, and their sums.
  template <typename X>
  struct inputs {
    uint c; // chunk of 64: sub-block 2c in low, 2c+1 in high nibbles
    typename X::eight y[2 * EIGHTS];
    float low, high;
  };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) {
    in.c = part / (SHARE / 4u);
    const uint o = part % (SHARE / 4u) * BYTES;
    load_rows<EIGHTS>(x, b * 256u + in.c * 64u + o, in.y);
    load_rows<EIGHTS>(x, b * 256u + in.c * 64u + 32u + o, in.y + EIGHTS);
    in.low = sum_of_eights<EIGHTS>(in.y);
    in.high = sum_of_eights<EIGHTS>(in.y + EIGHTS);
  }

  // A lane's share of a row's block, which begins with head.
  template <typename X>
  static inline float product(uint4 head, words q, thread const inputs<X> & in) {
    const k_scales k = k_scales_at(head, in.c);
    float low = 8.0f * in.low, high = 8.0f * in.high;
    UNROLL for (ushort i = 0; i < EIGHTS; ++i) {
      low = add_low(q[2 * i], q[2 * i + 1], in.y[i], low);
      high = add_high(q[2 * i], q[2 * i + 1], in.y[EIGHTS + i], high);
    }
    return fma(k.scale[0], low, fma(k.scale[1], high, -fma(k.min[0], in.low, k.min[1] * in.high)));
  }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    inputs<X> in;
    load_inputs(x, b, part, in);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 144u;
      sum[r] += product(*(device const uint4 *)p, *(device const words *)(p + 16u + BYTES * part), in);
    }
  }

  // For product.metal: lane p of four decodes sixteen bytes of nibbles of a step.
  struct run { uint4 head, q; uint c; };

  static inline uint column(uint p, uint j) { return 64u * (p / 2u) + 16u * (p % 2u) + 32u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 144u;
    r.c = step % 2u * 2u + p / 2u;
    r.head = *(device const uint4 *)at;
    r.q = *(device const uint4 *)(at + 16u + step % 2u * 64u + 16u * p);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<8>(nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint j) {
    const k_scales k = k_scales_at(r.head, r.c);
    return two_floats(k.scale[j / 2u], fma(8.0f, k.scale[j / 2u], -k.min[j / 2u]));
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 144u;
    const uint j = i & 255u, s = j / 32u;
    const uint byte = p[16u + j / 64u * 32u + (j & 31u)];
    const float q = float(s & 1u ? byte >> 4 : byte & 15u);
    return fma(half_at(p) * k_scale(p + 4, s), q, -(half_at(p + 2) * k_min(p + 4, s)));
  }
};

template <uint SHARE, ushort N, uint COLS>
struct preloaded<q4_k_by<SHARE>, N, COLS> {
  enum : bool { PRELOADS = true };
  typedef q4_k_by<SHARE> T;
  uint4 head[N];
  typename T::words q[N];

  static inline void load(device const uchar * w, uint b, uint part, thread preloaded & h) {
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * T::row_bytes(COLS) + b * 144u;
      h.head[r] = *(device const uint4 *)p;
      h.q[r] = *(device const typename T::words *)(p + 16u + T::BYTES * part);
    }
  }

  template <typename X>
  static inline void multiply(thread const preloaded & h, X x, uint b, uint part, thread float * sum) {
    typename T::template inputs<X> in;
    T::load_inputs(x, b, part, in);
    UNROLL for (ushort r = 0; r < N; ++r) sum[r] += T::product(h.head[r], h.q[r], in);
  }
};

typedef q4_k_by<8> q4_k;

template <uint COLS>
struct lane_words<q4_k, COLS> {
  enum : uint { SIXTEENS = 2, WORDS = 0, SHARERS = 1, ALIGN = 16 };
  static inline uint owner(uint p, uint i) { return i == 0u ? 0u : p; }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) {
    return row + ulong(step / 2u) * 144u + (i == 0u ? 0u : 16u + step % 2u * 64u + 16u * p);
  }
  static inline device const uchar * word(device const uchar * row, uint, uint, uint) { return row; }
  static inline void join(thread const uint4 * q, thread const uint *, uint step, uint p, thread q4_k::run & r) {
    r.head = q[0];
    r.q = q[1];
    r.c = step % 2u * 2u + p / 2u;
  }
};
