// Q8_0: 32 elements in 34 bytes: half d, 32 signed bytes; element = d q.
struct q8_0 {
  enum { COLUMNS = 32 };

  static inline uint share(uint cols) { return is_split(row_bytes(cols)) ? 2u : 4u; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 32u) * 34u); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    if (is_split(row_bytes(COLS))) {
      typename X::eight y[2];
      load_two(x, b * 32u + 8u * part, b * 32u + 16u + 8u * part, y);
      UNROLL for (ushort r = 0; r < N; ++r) {
        device const uchar * p = w + r * row_bytes(COLS);
        device const uchar * at = quants<COLS>(p, b) + 8u * part;
        const uint2 q = words_at(at, row_bytes(COLS)), u = words_at(at + 16, row_bytes(COLS));
        sum[r] = fma(scale<COLS>(p, b), add_signed(q.y, u.y, y[1], add_signed(q.x, u.x, y[0], 0.0f)), sum[r]);
      }
      return;
    }
    typename X::eight y;
    load_eight(x, b * 32u + 4u * part, b * 32u + 16u + 4u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS);
      device const uchar * q = quants<COLS>(p, b) + 4u * part;
      sum[r] = fma(scale<COLS>(p, b), add_signed(word_at<2>(q), word_at<2>(q + 16), y, 0.0f), sum[r]);
    }
  }

  // s + Σ of 4 signed bytes of low and 4 of high times y. Flipping the sign bit adds 128.
  template <typename Y>
  static inline float add_signed(uint low, uint high, thread const Y & y, float s) {
    return add_bytes<128>(low ^ 0x80808080u, high ^ 0x80808080u, y, s);
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q[2]; half scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = min(4u * step + p, COLS / 32u - 1u);
    const ulong align = is_split(row_bytes(COLS)) ? row_bytes(COLS) : 2u;
    UNROLL for (uint i = 0; i < 2u; ++i) r.q[i] = sixteen_at(quants<COLS>(row, b) + 16u * i, align);
    r.scale = *(device const half *)scale_at<COLS>(row, b);
  }

  // Flipping the sign bit adds 128.
  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<128>(r.q[j / 2u][j % 2u * 2u + u] ^ 0x80808080u); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(float(r.scale), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    return scale<COLS>(row, i / 32u) * float(((device const char *)quants<COLS>(row, i / 32u))[i & 31u]);
  }

  // The 32 bytes of block b, and its scale.
  template <uint COLS>
  static inline device const uchar * quants(device const uchar * row, uint b) {
    return is_split(row_bytes(COLS)) ? row + b * 32u : row + b * 34u + 2u;
  }

  template <uint COLS>
  static inline float scale(device const uchar * row, uint b) { return half_at(scale_at<COLS>(row, b)); }

  template <uint COLS>
  static inline device const uchar * scale_at(device const uchar * row, uint b) {
    return is_split(row_bytes(COLS)) ? row + COLS + b * 2u : row + b * 34u;
  }
};

template <uint COLS>
struct lane_words<q8_0, COLS> : own_sixteens {
  enum : bool { APART = SPLIT_ROWS && COLS / 32u * 34u % 4u == 0u };
  enum : uint { SIXTEENS = APART ? 2 : 0, WORDS = SIXTEENS / 2, SHARERS = 2, ALIGN = 16 };
  static inline uint block(uint step, uint p) { return min(4u * step + p, COLS / 32u - 1u); }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint i) { return row + block(step, p) * 32u + i * 16u; }
  static inline device const uchar * word(device const uchar * row, uint step, uint p, uint) { return row + COLS + block(step, p) / 2u * 4u; }
  static inline void join(thread const uint4 * q, thread const uint * w, uint step, uint p, thread q8_0::run & r) {
    UNROLL for (uint i = 0; i < 2u; ++i) r.q[i] = q[i];
    r.scale = half_of(w[0], block(step, p));
  }
};
