// Q6_K: 256 elements in 210 bytes: 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16
// signed scales, half d; element = d scale (q - 32). Within each half of 128, element 32k+l has
// its nibble in byte l + 32 (k mod 2), low for k < 2, and bits 2k of upper byte l.
// A lane takes 8 values of l, with all k or with those that share a nibble's byte.
template <uint SHARE>
struct q6_k_by {
  enum { COLUMNS = 256, PAIRS = 16 / SHARE };

  static inline uint share(uint) { return SHARE; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 256u) * 210u); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    const uint h = part / (SHARE / 2u); // half of the block
    const uint l = part / (SHARE / 8u) % 4u * 8u;
    const uint k0 = part % (SHARE / 8u); // the pairs k0 and k0 + 2, and from there on
    eight_floats y[2 * PAIRS]; // with four scales, products of halves are not faster
    UNROLL for (ushort k = 0; k < 2 * PAIRS; ++k) load_row(x, b * 256u + h * 128u + (k % PAIRS + k0 + k / PAIRS * 2u) * 32u + l, y[k]);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS);
      const fields f = fields_of<COLS>(p, b);
      device const uchar * ql = f.low + h * 64u + k0 * 32u + l;
      device const char * scales = f.scales + h * 8u + k0 * 2u + l / 16u;
      const uint2 upper = words<COLS>(f.high + h * 32u + l) >> 2u * k0;
      float q = 0.0f;
      UNROLL for (ushort k = 0; k < PAIRS; ++k) {
        const uint2 low = words<COLS>(ql + 32u * k), u = upper >> 2u * k;
        q = fma(float(scales[2 * k]), six_bits<0>(low, u, y[k]), q);
        q = fma(float(scales[2 * k + 4]), six_bits<4>(low, u, y[k + PAIRS]), q);
      }
      sum[r] = fma(half_at(f.d), q, sum[r]);
    }
  }

  // Σ of eight products with the nibbles at bit SHIFT of low's bytes, and the bit pairs there of upper's.
  template <uint SHIFT, typename Y>
  static inline float six_bits(uint2 low, uint2 upper, thread const Y & y) {
    const uint2 pairs = SHIFT == 0u ? upper << 4u : upper;
    const uint2 q = (low >> SHIFT & 0x0f0f0f0fu) | (pairs & 0x30303030u);
    return add_bytes<32>(q.x, q.y, y, 0.0f);
  }

  // For product.metal: lane p of four decodes sixteen bytes of nibbles of a step, half a block.
  struct run { uint4 low, high; uint shift; char scale[2]; half d; };

  static inline uint column(uint p, uint j) { return 16u * p + 64u * (j / 2u) + 8u * (j % 2u); }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const fields f = fields_of<COLS>(row, step / 2u);
    const uint h = step % 2u;
    const ulong align = is_split(row_bytes(COLS)) ? row_bytes(COLS) : 2u;
    r.low = sixteen_at(f.low + h * 64u + 16u * p, align);
    r.high = sixteen_at(f.high + h * 32u + 16u * (p % 2u), align);
    r.shift = p / 2u * 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = f.scales[h * 8u + p + 4u * i];
    r.d = *(device const half *)f.d;
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    const uint k = j % 2u * 2u + u, pairs = r.high[k] >> (r.shift + j / 2u * 4u);
    return centred<32>(nibbles_of(r.low[k], j) | (pairs << 4 & 0x30303030u));
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(float(r.d) * float(r.scale[j / 2u]), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const fields f = fields_of<COLS>(row, i / 256u);
    const uint n = (i & 255u) / 128u, k = (i & 127u) / 32u, l = i & 31u;
    const uint byte = f.low[n * 64u + (k & 1u) * 32u + l];
    const uint upper = (uint(f.high[n * 32u + l]) >> (2u * k)) & 3u;
    const float q = float((k < 2u ? byte & 15u : byte >> 4) | upper << 4) - 32.0f;
    return half_at(f.d) * float(f.scales[n * 8u + l / 16u + 2u * k]) * q;
  }

  // Where the fields of a block are.
  struct fields {
    device const uchar * low;
    device const uchar * high;
    device const char * scales;
    device const uchar * d;
  };

  template <uint COLS>
  static inline fields fields_of(device const uchar * row, uint b) {
    fields f;
    if (is_split(row_bytes(COLS))) {
      f.low = row + b * 128u;
      f.high = row + COLS / 2u + b * 64u;
      f.scales = (device const char *)(row + COLS / 4u * 3u + b * 16u);
      f.d = row + COLS / 16u * 13u + b * 2u;
    } else {
      f.low = row + b * 210u;
      f.high = f.low + 128;
      f.scales = (device const char *)(f.low + 192);
      f.d = f.low + 208;
    }
    return f;
  }

  template <uint COLS>
  static inline uint2 words(device const uchar * p) {
    if (is_split(row_bytes(COLS))) return words_at(p, row_bytes(COLS));
    uint2 v;
    v.x = word_at<2>(p);
    v.y = word_at<2>(p + 4);
    return v;
  }
};

typedef q6_k_by<8> q6_k;

template <uint COLS>
struct lane_words<q6_k, COLS> {
  enum : bool { APART = SPLIT_ROWS && COLS / 256u * 210u % 4u == 0u };
  enum : uint { SIXTEENS = APART ? 2 : 0, WORDS = APART ? 3 : 0, SHARERS = 4, ALIGN = 16 };
  static inline uint owner(uint p, uint i) { return i == 0u ? p : p % 2u; }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) {
    const q6_k::fields f = q6_k::fields_of<COLS>(row, step / 2u);
    return i == 0u ? f.low + step % 2u * 64u + 16u * p : f.high + step % 2u * 32u + 16u * (p % 2u);
  }
  static inline device const uchar * word(device const uchar * row, uint step, uint, uint i) {
    const q6_k::fields f = q6_k::fields_of<COLS>(row, step / 2u);
    return i < 2u ? (device const uchar *)f.scales + step % 2u * 8u + 4u * i : f.d - step / 2u % 2u * 2u;
  }
  static inline void join(thread const uint4 * q, thread const uint * w, uint step, uint p, thread q6_k::run & r) {
    r.low = q[0];
    r.high = q[1];
    r.shift = p / 2u * 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.scale[i] = byte_of(w[i], p);
    r.d = half_of(w[2], step / 2u);
  }
};
