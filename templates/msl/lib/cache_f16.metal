template <uint W>
struct cache<f16, W> {
  enum : uint { WIDEST = 8, NEIGHBOURS = 0 };
  struct rows { device const half * p; };
  template <uint N> struct columns { uint4 bits; };

  static inline rows at(device const uchar * cache, uint page, uint row) {
    rows r;
    r.p = (device const half *)cache + ulong(page) * (PAGE_ROWS * W) + row * W;
    return r;
  }

  static inline void skip(thread rows & r, uint n) { r.p += n * W; }

  static inline float get(rows r, uint i) { return float(r.p[i]); }

  static inline void put(device uchar * cache, uint page, uint row, uint column, float v, ushort) {
    ((device half *)cache)[(ulong(page) * PAGE_ROWS + row) * W + column] = half(v);
  }

  template <uint N>
  static inline void fetch_columns(thread columns<N> & c, rows r, uint row, uint column) { c.bits = *(device const uint4 *)(r.p + row * W + column); }

  template <uint N>
  static inline void fetch_scale(thread columns<N> &, rows, uint, uint) {}

  template <uint N>
  static inline void write_halves(thread const columns<N> & c, threadgroup half * to) { *(threadgroup uint4 *)to = c.bits; }
};
