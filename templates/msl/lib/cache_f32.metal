template <uint W>
struct cache<f32, W> {
  struct rows { device const float * p; };

  static inline rows at(device const uchar * cache, uint page, uint row) {
    rows r;
    r.p = (device const float *)cache + (ulong(page) * PAGE_ROWS + row) * W;
    return r;
  }

  static inline float get(rows r, uint i) { return r.p[i]; }

  static inline void put(device uchar * cache, uint page, uint row, uint column, float v, ushort) {
    ((device float *)cache)[(ulong(page) * PAGE_ROWS + row) * W + column] = v;
  }
};
