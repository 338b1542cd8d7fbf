// Q4_0: 32 elements in 18 bytes: half d, 16 bytes of nibbles; element = d (nibble - 8).
struct q4_0 {
  enum { COLUMNS = 32 };

  static inline uint share(uint cols) { return is_split(row_bytes(cols)) ? 2u : 4u; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 32u) * 18u); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    if (is_split(row_bytes(COLS))) {
      typename X::eight y[2];
      load_two(x, b * 32u + 8u * part, b * 32u + 16u + 8u * part, y);
      UNROLL for (ushort r = 0; r < N; ++r) {
        device const uchar * p = w + r * row_bytes(COLS);
        sum[r] = add_row(words_at(quants<COLS>(p, b) + 8u * part, row_bytes(COLS)), scale<COLS>(p, b), y, sum[r]);
      }
      return;
    }
    typename X::eight y;
    load_eight(x, b * 32u + 4u * part, b * 32u + 16u + 4u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS);
      sum[r] = fma(scale<COLS>(p, b), add_nibbles(word_at<2>(quants<COLS>(p, b) + 4u * part), y, 0.0f), sum[r]);
    }
  }

  // s + scale * Σ of the 16 products with a lane's half of a block.
  template <typename Y>
  static inline float add_row(uint2 q, float scale, thread const Y * y, float s) {
    return fma(scale, add_nibbles(q.y, y[1], add_nibbles(q.x, y[0], 0.0f)), s);
  }

  // For product.metal: lane p of four decodes block p of a step.
  struct run { uint4 q; half scale; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = min(4u * step + p, COLS / 32u - 1u);
    r.q = sixteen_at(quants<COLS>(row, b), is_split(row_bytes(COLS)) ? row_bytes(COLS) : 2u);
    r.scale = *(device const half *)scale_at<COLS>(row, b);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) { return centred<8>(nibbles_of(r.q[j % 2u * 2u + u], j)); }

  static inline float2 scaling(thread const run & r, uint) { return two_floats(float(r.scale), 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    return scale<COLS>(row, i / 32u) * (float(nibble(quants<COLS>(row, i / 32u), i & 31u)) - 8.0f);
  }

  // The 16 bytes of nibbles of block b, and its scale.
  template <uint COLS>
  static inline device const uchar * quants(device const uchar * row, uint b) {
    return is_split(row_bytes(COLS)) ? row + b * 16u : row + b * 18u + 2u;
  }

  template <uint COLS>
  static inline float scale(device const uchar * row, uint b) { return half_at(scale_at<COLS>(row, b)); }

  template <uint COLS>
  static inline device const uchar * scale_at(device const uchar * row, uint b) {
    return is_split(row_bytes(COLS)) ? row + COLS / 2u + b * 2u : row + b * 18u;
  }
};

template <ushort N, uint COLS>
struct preloaded<q4_0, N, COLS> {
  enum : bool { PRELOADS = SPLIT_ROWS && COLS / 32u * 18u % 4u == 0u };
  uint2 q[N];
  half scale[N];

  static inline void load(device const uchar * w, uint b, uint part, thread preloaded & h) {
    if (!PRELOADS) return;
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * q4_0::row_bytes(COLS);
      h.q[r] = words_at(q4_0::quants<COLS>(p, b) + 8u * part, q4_0::row_bytes(COLS));
      h.scale[r] = *(device const half *)q4_0::scale_at<COLS>(p, b);
    }
  }

  template <typename X>
  static inline void multiply(thread const preloaded & h, X x, uint b, uint part, thread float * sum) {
    typename X::eight y[2];
    load_two(x, b * 32u + 8u * part, b * 32u + 16u + 8u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) sum[r] = q4_0::add_row(h.q[r], float(h.scale[r]), y, sum[r]);
  }
};

template <uint COLS>
struct lane_words<q4_0, COLS> : own_sixteens {
  enum : bool { APART = SPLIT_ROWS && COLS / 32u * 18u % 4u == 0u };
  enum : uint { SIXTEENS = APART ? 1 : 0, WORDS = SIXTEENS, SHARERS = 2, ALIGN = 16 };
  static inline uint block(uint step, uint p) { return min(4u * step + p, COLS / 32u - 1u); }
  static inline device const uchar * sixteen(device const uchar * row, uint step, uint p, uint) { return row + block(step, p) * 16u; }
  static inline device const uchar * word(device const uchar * row, uint step, uint p, uint) { return row + COLS / 2u + block(step, p) / 2u * 4u; }
  static inline void join(thread const uint4 * q, thread const uint * w, uint step, uint p, thread q4_0::run & r) {
    r.q = q[0];
    r.scale = half_of(w[0], block(step, p));
  }
};
