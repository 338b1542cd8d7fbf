// NVFP4: 64 elements in 36 bytes: 4 scales, E4M3 numbers without a sign, of 16 elements each, and for
// each of these 8 bytes of nibbles (E2M1), first the low and then the high ones;
// element = scale/2 value[nibble], the values being twice E2M1's. Blocks are 4-byte aligned.
constant float nvfp4_values[16] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 6.0f, 8.0f, 12.0f,
                                   0.0f, -1.0f, -2.0f, -3.0f, -4.0f, -6.0f, -8.0f, -12.0f};

// Half of an E4M3 number; the one that is none is 0. Its bits are those of a half too small by 2^8.
static inline float nvfp4_scale(uint e) { return (e & 127u) == 127u ? 0.0f : low_half((e & 127u) << 7) * 128.0f; }

// nvfp4_scaled has a float in front of each block that is a factor of all: HEAD bytes.
template <uint HEAD>
struct nvfp4_blocks {
  enum { COLUMNS = 64 };
  enum : uint { BYTES = HEAD + 36 };

  // The scale of a sub-block.
  static inline float scale(device const uchar * block, uint sub) {
    const float s = nvfp4_scale(block[HEAD + sub]);
    return HEAD > 0u ? as_type<float>(word_at<4>(block)) * s : s;
  }

  static inline uint share(uint) { return 4u; }

  static inline ulong row_bytes(uint cols) { return ulong(cols / 64u) * BYTES; }

  template <ushort N, uint COLS, typename X>
  static inline void step(device const uchar * w, X x, uint b, uint part, thread float * sum) {
    float y[16];
    load<16>(x, b * 64u + 16u * part, y);
    UNROLL for (ushort r = 0; r < N; ++r) {
      device const uchar * p = w + r * row_bytes(COLS) + b * BYTES;
      sum[r] = fma(scale(p, part), table_nibbles(p + HEAD + 4u + 8u * part, nvfp4_values, y), sum[r]);
    }
  }

  // For product.msl: lane p of four decodes half of a block of a step, two of them.
  struct run { uint4 q; float scales[2]; };

  static inline uint column(uint p, uint j) { return 32u * p + 8u * j; }

  template <uint COLS>
  static inline void fetch_run(device const uchar * row, uint step, uint p, thread run & r) {
    device const uchar * at = row + ulong(min(2u * step + p / 2u, COLS / 64u - 1u)) * BYTES;
    r.q = sixteen_at(at + HEAD + 4u + p % 2u * 16u, 4u);
    UNROLL for (uint i = 0; i < 2u; ++i) r.scales[i] = scale(at, p % 2u * 2u + i);
  }

  static inline half4 numbers(thread const run & r, uint j, uint u) {
    return values_at(nvfp4_values, r.q[j / 2u * 2u + u] >> j % 2u * 4u & 0x0f0f0f0fu);
  }

  static inline float2 scaling(thread const run & r, uint j) { return two_floats(r.scales[j / 2u], 0.0f); }

  template <uint COLS>
  static inline float element(device const uchar * row, uint i) {
    device const uchar * p = row + ulong(i / 64u) * BYTES;
    const uint s = (i & 63u) / 16u, byte = p[HEAD + 4u + 8u * s + (i & 7u)];
    return scale(p, s) * nvfp4_values[(i & 15u) < 8u ? byte & 15u : byte >> 4];
  }
};

struct nvfp4 : nvfp4_blocks<0u> {};
struct nvfp4_scaled : nvfp4_blocks<4u> {};
