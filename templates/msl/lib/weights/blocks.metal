// Declarations for all formats of weights. A format is a struct with
//   row_bytes(cols)                    bytes of a row
//   COLUMNS, share(cols)               a block of COLUMNS columns is the work of share(cols) lanes
//   step<N, COLS>(w, x, b, part, sum)  sum[r] += lane part's share of block b of row r · x, for N
//                                      rows of COLS columns; an input is loaded once for all rows
//   element<COLS>(row, i)              element i of a row
// A weight matrix begins at a multiple of device.WeightAlign bytes, so the format determines the widest
// aligned load. Inputs begin at a multiple of 8 elements. Neighbouring lanes take neighbouring inputs. Small
// integers become halves without a conversion: OR-ed into the mantissa of the half 1024.0, a number n below
// 1024 gives exactly 1024 + n. One instruction does so for two numbers.

// A device that copies weights may store the fields of a row's blocks in separate arrays, the widest field
// first, if rows are 4-byte aligned then: quant.SplitRows. Words of such rows are loaded whole.
#ifndef SPLIT_ROWS
#define SPLIT_ROWS false
#endif

// Whether a row of a format that quant.SplitRows accepts has this layout.
static inline bool is_split(ulong row_bytes) { return SPLIT_ROWS && row_bytes % 4u == 0u; }

// The bytes from the start of such a row to the next: each begins at a multiple of 16 bytes.
static inline ulong split_bytes(ulong row_bytes) { return is_split(row_bytes) ? (row_bytes + 15u) / 16u * 16u : row_bytes; }

// Before a loop over blocks: FLIGHT blocks are in flight at a time (plan.Product.Unroll), or EACH blocks of
// each of two matrices.
#ifndef IN_FLIGHT
#define IN_FLIGHT _Pragma("clang loop unroll_count(FLIGHT)")
#endif
#ifndef BOTH_IN_FLIGHT
#define BOTH_IN_FLIGHT _Pragma("clang loop unroll_count(EACH)")
#endif

// (a & b) | c. A platform whose compiler does not find its single instruction for this defines it.
#ifndef AND_OR
#define AND_OR(a, b, c) (((a) & (b)) | (c))
#endif

// A pair of the halves in the lower, or in the upper, 16 bits of two words. A platform with one instruction
// for this defines it: otherwise its compiler may make the pair again for each product.
#ifndef LOWER_HALVES
#define LOWER_HALVES(a, b) two_halves(as_type<half2>(a).x, as_type<half2>(b).x)
#define UPPER_HALVES(a, b) two_halves(as_type<half2>(a).y, as_type<half2>(b).y)
#endif

// 16 bits of a, from bit `shift` (0 or 16) on, in the lower half of a word, and those of b in the upper half.
#ifndef SIXTEENS
#define SIXTEENS(a, b, shift) (((a) >> (shift) & 0xffffu) | (b) >> (shift) << 16)
#endif

// 1024 + n for the numbers n in two bytes of q.
#ifndef LOWER_BYTES_PLUS_1024
#define LOWER_BYTES_PLUS_1024(q) plus_1024(((q) & 0xffffu) | ((q) & 0xff00u) << 8, 0x00ff00ffu)
#define UPPER_BYTES_PLUS_1024(q) plus_1024((q) >> 16 | ((q) >> 8 & 0xff0000u), 0x00ff00ffu)
#define ODD_BYTES_PLUS_1024(q) plus_1024((q) >> 8, 0x00ff00ffu)
#endif

static inline float half_at(device const uchar * p) { return float(*(device const half *)p); }

static inline uint ushort_at(device const uchar * p) { return uint(*(device const ushort *)p); }

// The half in the lower 16 bits.
static inline float low_half(uint v) { return float(as_type<half2>(v).x); }

// The half in the upper 16 bits.
static inline float high_half(uint v) { return float(as_type<half2>(v).y); }

// Loads the 4 bytes at p, which is aligned to ALIGN bytes: 2, or at least 4.
template <uint ALIGN>
static inline uint word_at(device const uchar * p) {
  return ALIGN < 4u ? ushort_at(p) | ushort_at(p + 2) << 16 : *(device const uint *)(p);
}

// Loads the 8 bytes at p. Its alignment is that of rows of row_bytes bytes, a multiple of 4.
static inline uint2 words_at(device const uchar * p, ulong row_bytes) {
  if (row_bytes % 8u == 0u) return *(device const uint2 *)p;
  uint2 v;
  v.x = word_at<4>(p);
  v.y = word_at<4>(p + 4);
  return v;
}

// The vector type of BYTES bytes.
template <uint BYTES> struct words_of;
template <> struct words_of<8> { typedef uint2 type; };
template <> struct words_of<16> { typedef uint4 type; };

// The input of a mat-vec: floats or halves in a buffer, or staged in threadgroup memory. A format that
// multiplies halves as halves takes eight inputs as an X::eight; other formats take floats.
struct eight_floats;
struct eight_halves;
struct in_floats { typedef eight_floats eight; device const float * p; };
struct in_halves { typedef eight_halves eight; device const half * p; };
struct in_shared { typedef eight_floats eight; threadgroup const float * p; uint first; }; // p[0] is input `first`

// The type of an input of activations.
template <typename T> struct activations;
template <> struct activations<float> { typedef in_floats input; };
template <> struct activations<half> { typedef in_halves input; };
typedef activations<act_t>::input in_acts;

static inline void as_floats(half4 v, thread float * y) {
  y[0] = float(v.x);
  y[1] = float(v.y);
  y[2] = float(v.z);
  y[3] = float(v.w);
}

// Loads inputs i and i+1; i is even.
static inline void load2(in_floats x, uint i, thread float * y) {
  const float2 v = *(device const float2 *)(x.p + i);
  y[0] = v.x;
  y[1] = v.y;
}

static inline void load2(in_halves x, uint i, thread float * y) {
  const half2 v = *(device const half2 *)(x.p + i);
  y[0] = float(v.x);
  y[1] = float(v.y);
}

static inline void load2(in_shared x, uint i, thread float * y) {
  y[0] = x.p[i - x.first];
  y[1] = x.p[i - x.first + 1u];
}

// Loads inputs i to i+3; i is a multiple of 4.
static inline void load4(in_floats x, uint i, thread float * y) {
  const float4 v = *(device const float4 *)(x.p + i);
  y[0] = v.x;
  y[1] = v.y;
  y[2] = v.z;
  y[3] = v.w;
}

static inline void load4(in_halves x, uint i, thread float * y) { as_floats(*(device const half4 *)(x.p + i), y); }

static inline void load4(in_shared x, uint i, thread float * y) {
  load2(x, i, y);
  load2(x, i + 2u, y + 2);
}

// Loads N inputs from i on, both multiples of 4.
template <ushort N, typename X>
static inline void load(X x, uint i, thread float * y) {
  UNROLL for (ushort k = 0; k < N; k += 4) load4(x, i + k, y + k);
}

// Σ y[i] over N inputs.
template <ushort N>
static inline float sum_of(thread const float * y) {
  float sum = 0.0f;
  UNROLL for (ushort i = 0; i < N; ++i) sum += y[i];
  return sum;
}

// Eight inputs of a step: two times four neighbours, in the order of their products.
struct eight_floats { float y[8]; };
struct eight_halves { half2 y[4]; }; // inputs 0 and 2, 1 and 3, 4 and 6, 5 and 7

// Loads inputs a to a+3 and b to b+3; both are multiples of 4.
template <typename X>
static inline void load_eight(X x, uint a, uint b, thread eight_floats & y) {
  load4(x, a, y.y);
  load4(x, b, y.y + 4);
}

static inline half2 two_halves(half a, half b) {
  half2 v;
  v.x = a;
  v.y = b;
  return v;
}

// Two times four neighbours in the order of their products. Words instead of swizzles of halves make NVIDIA's
// assembler generate faster code (1,032 to 1,045 tokens per second in one model).
static inline eight_halves in_order(uint2 u, uint2 v) {
  eight_halves y;
  y.y[0] = LOWER_HALVES(u.x, u.y);
  y.y[1] = UPPER_HALVES(u.x, u.y);
  y.y[2] = LOWER_HALVES(v.x, v.y);
  y.y[3] = UPPER_HALVES(v.x, v.y);
  return y;
}

static inline void load_eight(in_halves x, uint a, uint b, thread eight_halves & y) {
  y = in_order(*(device const uint2 *)(x.p + a), *(device const uint2 *)(x.p + b));
}

// Loads inputs i to i+7; i is a multiple of 8. Eight halves take one load: with fewer loads of inputs, the
// loads of weights start earlier.
template <typename X, typename Y>
static inline void load_row(X x, uint i, thread Y & y) { load_eight(x, i, i + 4u, y); }

static inline void load_row(in_halves x, uint i, thread eight_halves & y) {
  const uint4 v = *(device const uint4 *)(x.p + i);
  y = in_order(v.xy, v.zw);
}

static inline void load_row(in_halves x, uint i, thread eight_floats & y) {
  const uint4 v = *(device const uint4 *)(x.p + i);
  as_floats(as_type<half4>(v.xy), y.y);
  as_floats(as_type<half4>(v.zw), y.y + 4);
}

// Loads N times eight inputs from i on, a multiple of 8.
template <ushort N, typename X, typename Y>
static inline void load_rows(X x, uint i, thread Y * y) {
  UNROLL for (ushort k = 0; k < N; ++k) load_row(x, i + 8u * k, y[k]);
}

// Loads inputs a to a+3 with b to b+3, and a+4 to a+7 with b+4 to b+7; both are multiples of 8.
template <typename X, typename Y>
static inline void load_two(X x, uint a, uint b, thread Y * y) {
  load_eight(x, a, b, y[0]);
  load_eight(x, a + 4u, b + 4u, y[1]);
}

static inline void load_two(in_halves x, uint a, uint b, thread eight_halves * y) {
  const uint4 u = *(device const uint4 *)(x.p + a), v = *(device const uint4 *)(x.p + b);
  y[0] = in_order(u.xy, v.xy);
  y[1] = in_order(u.zw, v.zw);
}

// Products of halves take weights, whose magnitudes are at most RANGE (a power of two), divided by 4 RANGE.
// So the sum of four products stays in the range of halves for all inputs. Products of floats take weights as
// they are. unit_of returns the factor.
template <short RANGE>
static inline half unit_of(thread const eight_floats &) { return half(1.0f); }

template <short RANGE>
static inline half unit_of(thread const eight_halves &) { return half(0.25f / float(RANGE)); }

// s + v.x * y[0] + v.y * y[2].
static inline float add_pair(half2 v, thread const float * y, float s) {
  s = fma(float(v.x), y[0], s);
  return fma(float(v.y), y[2], s);
}

// s + Σ of eight products, with weights times unit_of, in the order of inputs 0 and 2, 1 and 3, 4 and 6, 5 and 7.
template <short RANGE>
static inline float add_products(half2 v0, half2 v1, half2 v2, half2 v3, thread const eight_floats & y, float s) {
  s = add_pair(v1, y.y + 1, add_pair(v0, y.y, s));
  return add_pair(v3, y.y + 5, add_pair(v2, y.y + 4, s));
}

// Halves are multiplied and summed as halves, four products to a sum: see quant.RowsHalves.
template <short RANGE>
static inline float add_products(half2 v0, half2 v1, half2 v2, half2 v3, thread const eight_halves & y, float s) {
  const half2 four = fma(v3, y.y[3], fma(v2, y.y[2], fma(v1, y.y[1], v0 * y.y[0])));
  return fma(float(four.y), 4.0f * float(RANGE), fma(float(four.x), 4.0f * float(RANGE), s));
}

// The sum of N times eight inputs, in the order of products.
template <ushort N, typename Y>
static inline float sum_of_eights(thread const Y * y) {
  const half2 one = half2(unit_of<1>(*y));
  float sum = 0.0f;
  UNROLL for (ushort k = 0; k < N; ++k) sum = add_products<1>(one, one, one, one, y[k], sum);
  return sum;
}

// 1024 + n for the number n below 1024 in each 16 bits of q & mask.
static inline half2 plus_1024(uint q, uint mask) { return as_type<half2>(AND_OR(q, mask, 0x64006400u)); }

// The numbers n - BIAS, and n / 16 - 8, times unit. All steps are exact.
template <short BIAS>
static inline half2 without_1024(half2 plus_1024, half unit) { return fma(plus_1024, half2(unit), half2(unit * half(-1024 - BIAS))); }

template <short BIAS>
static inline half2 lowered(uint q, uint mask, half unit) { return without_1024<BIAS>(plus_1024(q, mask), unit); }

static inline half2 sixteenth_less_8(uint q, uint mask, half unit) {
  return fma(plus_1024(q, mask), half2(unit * half(0.0625f)), half2(unit * half(-64 - 8)));
}

// The rounding error of a sum of halves is proportional to its size, so it is least if numbers count from the
// middle of their range. If a format counts them from 0, s must begin with Σ middle * y.

// s + Σ (low nibble - 8) * y over 4 bytes of low, and of high.
template <typename Y>
static inline float add_low(uint low, uint high, thread const Y & y, float s) {
  const half u = unit_of<8>(y);
  return add_products<8>(lowered<8>(low, 0x000f000fu, u), lowered<8>(low >> 8, 0x000f000fu, u),
                         lowered<8>(high, 0x000f000fu, u), lowered<8>(high >> 8, 0x000f000fu, u), y, s);
}

// The same for the high nibbles.
template <typename Y>
static inline float add_high(uint low, uint high, thread const Y & y, float s) {
  const half u = unit_of<8>(y);
  return add_products<8>(sixteenth_less_8(low, 0x00f000f0u, u), sixteenth_less_8(low >> 8, 0x00f000f0u, u),
                         sixteenth_less_8(high, 0x00f000f0u, u), sixteenth_less_8(high >> 8, 0x00f000f0u, u), y, s);
}

// The same for the low nibbles of 4 bytes, then for their high nibbles.
template <typename Y>
static inline float add_nibbles(uint q, thread const Y & y, float s) {
  const half u = unit_of<8>(y);
  return add_products<8>(lowered<8>(q, 0x000f000fu, u), lowered<8>(q >> 8, 0x000f000fu, u),
                         sixteenth_less_8(q, 0x00f000f0u, u), sixteenth_less_8(q >> 8, 0x00f000f0u, u), y, s);
}

// s + Σ (byte - MIDDLE) * y over 4 bytes of low and 4 of high, all below 2 MIDDLE, a power of two.
template <short MIDDLE, typename Y>
static inline float add_bytes(uint low, uint high, thread const Y & y, float s) {
  const half u = unit_of<MIDDLE>(y);
  return add_products<MIDDLE>(lowered<MIDDLE>(low, 0x00ff00ffu, u), without_1024<MIDDLE>(ODD_BYTES_PLUS_1024(low), u),
                              lowered<MIDDLE>(high, 0x00ff00ffu, u), without_1024<MIDDLE>(ODD_BYTES_PLUS_1024(high), u), y, s);
}

// Moves bits 0 to 3 of a number to bit 4 of bytes 0 to 3.
static inline uint fifth_bits(uint bits) { return (bits & 15u) * 0x02040810u & 0x10101010u; }

// s + Σ (low nibble with a fifth bit - 16) * y over 4 bytes, and the same of their high nibbles;
// the fifth bits are bits 0 to 3 of low and high.
template <typename Y>
static inline float add_fives(uint q, uint low, uint high, thread const Y & y, float s) {
  return add_bytes<16>((q & 0x0f0f0f0fu) | fifth_bits(low), (q >> 4 & 0x0f0f0f0fu) | fifth_bits(high), y, s);
}

// Nibble i of a 32-element block: low nibbles first, then high.
static inline uint nibble(device const uchar * qs, uint i) {
  const uint q = qs[i & 15u];
  return i < 16u ? q & 15u : q >> 4;
}

// The 6-bit scale and minimum of sub-block j in the 12 packed bytes of Q4_K and Q5_K.
static inline float k_scale(device const uchar * q, uint j) {
  return j < 4u ? float(q[j] & 63) : float((q[j + 4u] & 15) | ((q[j - 4u] >> 6) << 4));
}

static inline float k_min(device const uchar * q, uint j) {
  return j < 4u ? float(q[j + 4u] & 63) : float((q[j + 4u] >> 4) | ((q[j] >> 6) << 4));
}

// Scale times d, and minimum times dmin, of the sub-blocks 2c and 2c+1 of Q4_K and Q5_K from
// the 16 bytes that their blocks begin with.
struct k_scales { float scale[2], min[2]; };

static inline k_scales k_scales_at(uint4 head, uint c) {
  // Masks instead of conditions: they are the same for all rows of a lane, and loads can be scheduled across them.
  const uint shift = 16u * (c & 1u), last = 0u - (c >> 1), nibbles = last & 0x0f0f0f0fu;
  // q has one byte each for scales 2c and 2c+1, and minima 2c and 2c+1. For the last four sub-blocks the upper
  // bits of the first four's bytes hold the upper two bits, and nibbles the lower four.
  const uint six = SIXTEENS(head.y, head.z, shift) >> (last & 2u) & ~nibbles;
  const uint q = ((SIXTEENS(head.w, head.w >> 4, shift) & nibbles) | six) & 0x3f3f3f3fu;
  const half2 scale = LOWER_BYTES_PLUS_1024(q) - half2(half(1024.0f));
  const half2 low = UPPER_BYTES_PLUS_1024(q) - half2(half(1024.0f));
  const float d = low_half(head.x), dmin = high_half(head.x);
  k_scales k;
  k.scale[0] = d * float(scale.x);
  k.scale[1] = d * float(scale.y);
  k.min[0] = dmin * float(low.x);
  k.min[1] = dmin * float(low.y);
  return k;
}

// The 16 values of IQ4_NL and IQ4_XS.
constant float iq4_values[16] = {-127.0f, -104.0f, -83.0f, -65.0f, -49.0f, -35.0f, -22.0f, -10.0f,
                                 1.0f, 13.0f, 25.0f, 38.0f, 53.0f, 69.0f, 89.0f, 113.0f};

// Σ over 8 bytes of y[i] * value of the low nibble + y[8+i] * value of the high nibble.
static inline float table_nibbles(device const uchar * p, constant float * values, thread const float * y) {
  float sum = 0.0f;
  UNROLL for (ushort i = 0; i < 8; ++i) {
    const uint q = p[i];
    sum = fma(values[q & 15u], y[i], sum);
    sum = fma(values[q >> 4], y[8 + i], sum);
  }
  return sum;
}

// Loads a lane's share of COUNT partial sums: COUNT / LANES of them, rounded up. They are best added up
// later, when the loads of a mat-vec are in flight.
template <uint COUNT, uint LANES>
static inline void load_partials(device const float * partials, uint lane, thread float * v) {
  if (COUNT % (4u * LANES) == 0u) {
    UNROLL for (uint i = 0; i < COUNT / LANES; i += 4u) load4(in_floats{partials}, i * LANES + 4u * lane, v + i);
    return;
  }
  UNROLL for (uint i = 0; i < (COUNT + LANES - 1u) / LANES; ++i) v[i] = i * LANES + lane < COUNT ? partials[i * LANES + lane] : 0.0f;
}
