// Declarations with which formats decode weights for products of many rows, see product.metal. Loads the 16
// bytes at p, which is a multiple of align bytes after an aligned address.
static inline uint4 sixteen_at(device const uchar * p, ulong align) {
  if (align % 16u == 0u) return *(device const uint4 *)p;
  uint4 v;
  if (align % 8u == 0u) {
    v.xy = *(device const uint2 *)p;
    v.zw = *(device const uint2 *)(p + 8);
    return v;
  }
  UNROLL for (uint i = 0; i < 4u; ++i) {
    device const uchar * at = p + 4u * i;
    if (align % 4u == 0u) v[i] = word_at<4>(at);
    else if (align % 2u == 0u) v[i] = word_at<2>(at);
    else v[i] = uint(at[0]) | uint(at[1]) << 8 | uint(at[2]) << 16 | uint(at[3]) << 24;
  }
  return v;
}

// The nibbles of 4 bytes for eight j of a lane's columns: the low ones for the first two eights, the high
// ones for the others.
static inline uint nibbles_of(uint q, uint j) { return (j < 2u ? q : q >> 4) & 0x0f0f0f0fu; }

static inline float2 two_floats(float a, float b) {
  float2 v;
  v.x = a;
  v.y = b;
  return v;
}

static inline float4 in_full(half4 v) {
  float4 f;
  UNROLL for (uint i = 0; i < 4u; ++i) f[i] = float(v[i]);
  return f;
}

static inline half4 rounded(float4 v) {
  half4 h;
  UNROLL for (uint i = 0; i < 4u; ++i) h[i] = half(v[i]);
  return h;
}

// The four bytes of q minus MIDDLE, as halves. All steps are exact.
template <short MIDDLE>
static inline half4 centred(uint q) {
  half4 v;
  v.xy = LOWER_BYTES_PLUS_1024(q) - half2(half(1024 + MIDDLE));
  v.zw = UPPER_BYTES_PLUS_1024(q) - half2(half(1024 + MIDDLE));
  return v;
}

// The values of a table at the indices in four bytes. Halves represent all values exactly.
static inline half4 values_at(constant float * values, uint q) {
  half4 v;
  UNROLL for (uint i = 0; i < 4u; ++i) v[i] = half(values[q >> 8u * i & 15u]);
  return v;
}

// Four neighbouring weights of a lane's run, rounded to halves or as floats: weight = numbers * scaling.x +
// scaling.y. Numbers count from the middle of their range, so that rounding scaling to halves adds the least
// error. TWO says that one half is too coarse for a weight, and a second half holds its rounding error:
// routers are float32.
template <typename T>
struct weights_of {
  enum : bool { TWO = false };
  static inline half4 halves(thread const typename T::run & r, uint j, uint u) {
    const float2 s = T::scaling(r, j);
    const half4 n = T::numbers(r, j, u);
    half4 v;
    v.xy = fma(n.xy, half2(half(s.x)), half2(half(s.y)));
    v.zw = fma(n.zw, half2(half(s.x)), half2(half(s.y)));
    return v;
  }
  static inline float4 floats(thread const typename T::run & r, uint j, uint u) {
    const float2 s = T::scaling(r, j);
    const half4 n = T::numbers(r, j, u);
    float4 v;
    UNROLL for (uint i = 0; i < 4u; ++i) v[i] = fma(float(n[i]), s.x, s.y);
    return v;
  }
};

// The bytes of a step that weight_rows.metal copies to threadgroup memory for a lane: SIXTEENS times sixteen
// bytes, aligned to ALIGN bytes, and WORDS words. Neighbouring lanes that multiply the same bytes share one
// copy: SHARERS lanes share a word, and for sixteen i, lane p reads what lane owner(p, i) copies. A format
// whose rows allow this has a specialisation that says where these bytes are and how they are joined to a
// run. The weights of other formats are loaded into registers.
template <typename T, uint COLS>
struct lane_words { enum : uint { SIXTEENS = 0, WORDS = 0, SHARERS = 1 }; };

// For formats whose lanes do not share sixteens.
struct own_sixteens { static inline uint owner(uint p, uint) { return p; } };

// Half i of a word.
static inline half half_of(uint word, uint i) { return i % 2u == 0u ? as_type<half2>(word).x : as_type<half2>(word).y; }

// Byte i of a word, signed.
static inline char byte_of(uint word, uint i) { return char(word >> i % 4u * 8u & 0xffu); }
