// NVFP4: 64 elements in 36 bytes: 4 scales, E4M3 numbers without a sign, of 16 elements each, and for
// each of these 8 bytes of nibbles (E2M1), first the low and then the high ones;
// element = scale/2 value[nibble], the values being twice E2M1's. Blocks are 4-byte aligned.
constant float nvfp4_values[16] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 6.0f, 8.0f, 12.0f,
                                   0.0f, -1.0f, -2.0f, -3.0f, -4.0f, -6.0f, -8.0f, -12.0f};

// Half of an E4M3 number; NaN counts as 0. Its bits are those of a half, which is too small by a factor of 2^8.
static inline float nvfp4_scale(uint e) { return (e & 127u) == 127u ? 0.0f : low_half((e & 127u) << 7) * 128.0f; }

// Twice the E2M1 numbers in nibble `place` of each 16 bits of q, times unit. Their exponent and mantissa
// become the lowest bits of a half's exponent and the highest bit of its mantissa. The half is too small by a
// factor of 2^14; subnormal numbers stay subnormal.
static inline half2 twice_e2m1(uint q, uint place, half unit) {
  const uint signs = q << (12u - 4u * place), numbers = place < 3u ? q << (9u - 4u * place % 12u) : q >> 3;
  return as_type<half2>((signs & 0x80008000u) | (numbers & 0x0e000e00u)) * half2(unit * half(32768.0f));
}

// s + Σ of eight products: those of the nibbles of bytes 0 and 2, 1 and 3: first the low and then the high ones.
template <typename Y>
static inline float add_e2m1(uint q, thread const Y & y, float s) {
  const half u = unit_of<16>(y);
  return add_products<16>(twice_e2m1(q, 0u, u), twice_e2m1(q, 2u, u), twice_e2m1(q, 1u, u), twice_e2m1(q, 3u, u), y, s);
}

// nvfp4_scaled has a float before each block, HEAD bytes: a factor of all its elements.
template <uint HEAD>
struct nvfp4_blocks {
  enum { COLUMNS = 64 };
  enum : uint { BYTES = HEAD + 36 };

  static inline uint share(uint) { return 4u; }

  static inline ulong row_bytes(uint cols) { return split_bytes(ulong(cols / 64u) * BYTES); }

  // The nibbles of a block, and its scales, which follow the factor if there is one.
  template <uint COLS>
  static inline device const uchar * nibbles_at(device const uchar * row, uint b) { return field_of<nvfp4_blocks, COLS>(row, b, HEAD + 4u, 32u, 0u); }

  template <uint COLS>
  static inline device const uchar * scales_at(device const uchar * row, uint b) { return field_of<nvfp4_blocks, COLS>(row, b, 0u, HEAD + 4u, 32u); }

  // The scale of a sub-block.
  template <uint COLS>
  static inline float scale(device const uchar * row, uint b, uint sub) {
    device const uchar * scales = scales_at<COLS>(row, b);
    const float s = nvfp4_scale(scales[HEAD + sub]);
    return HEAD > 0u ? as_type<float>(word_at<4>(scales)) * s : s;
  }

  struct held { uint2 q; float scale; };

  template <uint COLS>
  static inline void load_held(device const uchar * row, uint b, uint part, thread held & q) {
    device const uchar * at = nibbles_at<COLS>(row, b) + 8u * part;
    if (apart<nvfp4_blocks, COLS>()) {
      q.q = *(device const uint2 *)at;
    } else {
      q.q.x = word_at<4>(at);
      q.q.y = word_at<4>(at + 4);
    }
    q.scale = scale<COLS>(row, b, part);
  }

  template <typename X> struct inputs { typename X::eight y[2]; };

  template <typename X>
  static inline void load_inputs(X x, uint b, uint part, thread inputs<X> & in) { load_two(x, b * 64u + 16u * part, b * 64u + 16u * part + 8u, in.y); }

  template <typename IN>
  static inline float product(thread const held & q, thread const IN & in) { return q.scale * add_e2m1(q.q.y, in.y[1], add_e2m1(q.q.x, in.y[0], 0.0f)); }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) { step_lanes<nvfp4_blocks, N, COLS>(w, x, b, part, sum); }

  // For product.metal: lane p of four decodes half of a block of a step, two of them.
  struct run { uint4 q; float scales[2]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    const uint b = min(2u * step + p / 2u, COLS / 64u - 1u);
    r.q = sixteen_at(nibbles_at<COLS>(row, b) + p % 2u * 16u, apart<nvfp4_blocks, COLS>() ? 16u : 4u);
    UNROLL for (uint i = 0; i < 2u; ++i) r.scales[i] = scale<COLS>(row, b, p % 2u * 2u + i);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return values_at(nvfp4_values, r.q[j / 2u * 2u + u] >> j % 2u * 4u & 0x0f0f0f0fu);
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.scales[j / 2u], 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    const uint s = (i & 63u) / 16u, byte = nibbles_at<COLS>(row, i / 64u)[8u * s + (i & 7u)];
    return scale<COLS>(row, i / 64u, s) * nvfp4_values[(i & 15u) < 8u ? byte & 15u : byte >> 4];
  }
};

struct nvfp4 : nvfp4_blocks<0u> {};
struct nvfp4_scaled : nvfp4_blocks<4u> {};

template <ushort N, uint COLS>
struct preloaded<nvfp4, N, COLS> : preloaded_lanes<nvfp4, N, COLS> {};

template <ushort N, uint COLS>
struct preloaded<nvfp4_scaled, N, COLS> : preloaded_lanes<nvfp4_scaled, N, COLS> {};
