// Blocks of q8_0 with their fields in separate arrays: a page has the signed bytes of all its rows, followed
// by a half as scale for every 32 bytes. So each row's bytes begin at a multiple of 32 bytes. W is a multiple
// of 32.
template <uint W>
struct cache<q8_0, W> {
  enum : uint { WIDEST = 16, NEIGHBOURS = (511u + W) / W, PAGE_QUANTS = PAGE_ROWS * W, PAGE_BYTES = PAGE_QUANTS / 32u * 34u };
  struct rows {
    device const uchar * quants;
    device const half * scales;
  };
  template <uint N> struct columns {
    typename words_of<N>::type bits;
    half scale;
  };

  static inline rows at(device const uchar * cache, uint page, uint row) {
    device const uchar * start = cache + ulong(page) * PAGE_BYTES;
    rows r;
    r.quants = start + row * W;
    r.scales = (device const half *)(start + PAGE_QUANTS) + row * (W / 32u);
    return r;
  }

  static inline void skip(thread rows & r, uint n) {
    r.quants += n * W;
    r.scales += n * (W / 32u);
  }

  static inline float get(rows r, uint i) { return float(r.scales[i / 32u]) * float(((device const char *)r.quants)[i]); }

  // Rounds as quant.Q8_0 does: to the nearest multiple of the scale as it is stored.
  static inline void put(device uchar * cache, uint page, uint row, uint column, float v, ushort lane) {
    device uchar * start = cache + ulong(page) * PAGE_BYTES;
    const half scale = half(simd_max(abs(v)) / 127.0f);
    const float inverse = scale > half(0.0f) ? 1.0f / float(scale) : 0.0f;
    start[row * W + column] = uchar(int(clamp(rint(v * inverse), -127.0f, 127.0f)) & 255);
    if (lane == 0) ((device half *)(start + PAGE_QUANTS))[(row * W + column) / 32u] = scale;
  }

  template <uint N>
  static inline void fetch_columns(thread columns<N> & c, rows r, uint row, uint column) {
    typedef typename words_of<N>::type words_t;
    c.bits = *(device const words_t *)(r.quants + row * W + column);
  }

  template <uint N>
  static inline void fetch_scale(thread columns<N> & c, rows r, uint row, uint column) { c.scale = r.scales[row * (W / 32u) + column / 32u]; }

  // Flipping the sign bit of a byte adds 128.
  static inline uint2 four(uint bits, half2 scale) {
    const uint q = bits ^ 0x80808080u;
    const half2 middle = half2(half(1024.0f + 128.0f));
    uint2 v;
    v.x = as_type<uint>((LOWER_BYTES_PLUS_1024(q) - middle) * scale);
    v.y = as_type<uint>((UPPER_BYTES_PLUS_1024(q) - middle) * scale);
    return v;
  }

  static inline void eight(uint2 bits, half2 scale, threadgroup half * to) {
    uint4 v;
    v.xy = four(bits.x, scale);
    v.zw = four(bits.y, scale);
    *(threadgroup uint4 *)to = v;
  }

  static inline void write_halves(thread const columns<8> & c, threadgroup half * to) { eight(c.bits, half2(c.scale), to); }

  static inline void write_halves(thread const columns<16> & c, threadgroup half * to) {
    eight(c.bits.xy, half2(c.scale), to);
    eight(c.bits.zw, half2(c.scale), to + 8);
  }
};
