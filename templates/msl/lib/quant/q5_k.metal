// Q5_K: 256 elements in 176 bytes: as Q4_K, with 32 bytes of fifth bits before the nibbles;
// bit s of byte l belongs to element l of sub-block s.
// A lane's share of a block is that of Q4_K.
template <uint SHARE>
struct q5_k_by {
  enum { COLUMNS = 256, BYTES = 128 / SHARE, EIGHTS = BYTES / 8 };
  typedef typename words_of<BYTES>::type words;

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 256u) * 176u; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint c = part / (SHARE / 4u); // chunk of 64: sub-block 2c in low, 2c+1 in high nibbles
    const uint o = part % (SHARE / 4u) * BYTES;
    typename X::eight y[2 * EIGHTS];
    load_rows<EIGHTS>(x, b * 256u + c * 64u + o, y);
    load_rows<EIGHTS>(x, b * 256u + c * 64u + 32u + o, y + EIGHTS);
    const float ylow = sum_of_eights<EIGHTS>(y), yhigh = sum_of_eights<EIGHTS>(y + EIGHTS);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * 176u;
      const k_scales k = k_scales_at(*(device const uint4 *)p, c);
      const words bits = *(device const words *)(p + 16u + o), q = *(device const words *)(p + 48u + BYTES * part);
      const words fifth = bits >> 2u * c; // bit 0 of each byte belongs to its low nibble, bit 1 to its high one
      float low = 16.0f * ylow, high = 16.0f * yhigh;
      UNROLL for (ushort i = 0; i < EIGHTS; ++i) {
        low = add_bytes<16>(low_fives(q[2 * i], fifth[2 * i]), low_fives(q[2 * i + 1], fifth[2 * i + 1]), y[i], low);
        high = add_bytes<16>(high_fives(q[2 * i], fifth[2 * i]), high_fives(q[2 * i + 1], fifth[2 * i + 1]), y[EIGHTS + i], high);
      }
      sum[r] += fma(k.scale[0], low, fma(k.scale[1], high, -fma(k.min[0], ylow, k.min[1] * yhigh)));
    }
  }

  // The low nibbles of 4 bytes, and the high ones, each with its fifth bit.
  static inline uint low_fives(uint q, uint fifth) { return (q & 0x0f0f0f0fu) | (fifth << 4 & 0x10101010u); }
  static inline uint high_fives(uint q, uint fifth) { return (q >> 4 & 0x0f0f0f0fu) | (fifth << 3 & 0x10101010u); }

  // For product.metal: lane p of four decodes sixteen bytes of nibbles of a step.
  struct run { uint4 head, q, fifths; uint c; };

  static inline uint column(uint p, uint j) { return 64u * (p / 2u) + 16u * (p % 2u) + 32u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(step / 2u) * 176u;
    r.c = step % 2u * 2u + p / 2u;
    r.head = *(device const uint4 *)at;
    r.fifths = *(device const uint4 *)(at + 16u + 16u * (p % 2u));
    r.q = *(device const uint4 *)(at + 48u + step % 2u * 64u + 16u * p);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint k = j % 2u * 2u + u, fifth = r.fifths[k] >> 2u * r.c;
    return centred<16>(j < 2u ? low_fives(r.q[k], fifth) : high_fives(r.q[k], fifth));
  }

  static inline float2 scaling(thread const run & r, uint j) {
    const k_scales k = k_scales_at(r.head, r.c);
    return two_floats(k.scale[j / 2u], fma(16.0f, k.scale[j / 2u], -k.min[j / 2u]));
  }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 256u) * 176u;
    const uint j = i & 255u, s = j / 32u;
    const uint byte = p[48u + j / 64u * 32u + (j & 31u)];
    const uint bit = (uint(p[16u + (j & 31u)]) >> s) & 1u;
    const float q = float((s & 1u ? byte >> 4 : byte & 15u) | bit << 4);
    return fma(half_at(p) * k_scale(p + 4, s), q, -(half_at(p + 2) * k_min(p + 4, s)));
  }
};

typedef q5_k_by<8> q5_k;

template <uint COLS>
struct lane_words<q5_k, COLS> {
  enum : uint { SIXTEENS = 3, WORDS = 0, SHARERS = 1, ALIGN = 16 };
  static inline uint owner(uint p, uint i) { return i == 0u ? 0u : i == 1u ? p % 2u : p; }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) {
    return row + ulong(step / 2u) * 176u + (i == 0u ? 0u : i == 1u ? 16u + 16u * (p % 2u) : 48u + step % 2u * 64u + 16u * p);
  }
  static inline device const uchar * word(device const uchar * row, uint, uint, uint) { return row; }
  static inline void join(thread const uint4 * q, thread const uint *, uint step, uint p, thread q5_k::run & r) {
    r.head = q[0];
    r.fifths = q[1];
    r.q = q[2];
    r.c = step % 2u * 2u + p / 2u;
  }
};
