// Declarations for the formats IQ1 to IQ3, in which the values of eight columns (or four) are an entry of a
// code book. The books are tables in constant memory, which gen/msl prints after this file. Each lane looks
// up entries of its own. An Apple GPU reads such a table through the core's cache, as it reads weights; the
// largest table has 8 kB, and recently used entries stay in the cache. A copy in threadgroup memory would
// have to be made by every threadgroup, which has only a few products for a single token, and would leave
// less memory for inputs. The translation for NVIDIA puts the table into device memory, because constant
// memory serves only one address at a time there. An entry for eight values has 2 bytes, a fourth of an entry
// in ggml, and an entry for four values has 4 bytes, so that more entries fit the cache. Nothing of this was
// measured on an Apple GPU.

// Moves bits 0 to 3 of a number to bit 0 of bytes 0 to 3.
static inline uint four_bits(uint bits) { return (bits & 15u) * 0x00204081u & 0x01010101u; }

// The signs of eight values in bits 0 to 7: seven are given, and the eighth makes the number of negative
// values even. The next two bits are undefined, and not read.
static inline uint even_signs(uint seven) {
  const uint s = seven & 127u;
  return s + (popcount(s) << 7);
}

// 64 ± each of the 4 bytes of m, which are below 64; bits 0 to 3 of signs select minus. For minus, the byte
// of f is 127, and the byte becomes (127 - m) + 64 - 127. No byte borrows from the next.
static inline uint signed_bytes(uint m, uint signs) {
  const uint n = four_bits(signs), f = (n << 7) - n;
  return (m ^ f) + 0x40404040u - f;
}

// s + Σ ±m * y for eight values: the 4 bytes of m.x, then those of m.y.
template <short RANGE, typename Y>
static inline float add_signed(uint2 m, uint signs, thread const Y & y, float s) {
  const half u = unit_of<RANGE>(y);
  return add_signed_products<RANGE>(lowered<0>(m.x, 0x00ff00ffu, u), without_1024<0>(ODD_BYTES_PLUS_1024(m.x), u),
                                    lowered<0>(m.y, 0x00ff00ffu, u), without_1024<0>(ODD_BYTES_PLUS_1024(m.y), u), signs, y, s);
}

// The codes of the eight values of an entry, two bits each: those of values 0, 1, 4 and 5 in bits 0 to 7,
// those of 2, 3, 6 and 7 in bits 16 to 23. The other bits are undefined. See quant.CodeBook.
static inline uint codes_of(uint entry) { return entry | entry << 8; }

static inline uint code_of(uint entry, uint i) { return entry >> (i % 4u / 2u * 8u + i / 4u * 4u + i % 2u * 2u) & 3u; }

// Interleaves two pairs of halves: even has elements 0 and 2, odd has 1 and 3.
static inline half4 four_halves(half2 even, half2 odd) {
  half4 v;
  v.x = even.x;
  v.y = odd.x;
  v.z = even.y;
  v.w = odd.y;
  return v;
}

// The magnitudes 8, 25 and 43 of IQ2, times unit, for the codes n in bits 4 and 5 (FIRST 64), or 6 and 7
// (FIRST 16), of each 16 bits. They are n / 2 (n + 33) + 8. The half v = FIRST + n is made by placing n in
// its mantissa; the polynomial in v takes two fmas. All steps are exact.
template <short FIRST>
static inline half2 iq2_magnitudes(uint q, half unit) {
  const half2 v = as_type<half2>(AND_OR(q, FIRST == 64 ? 0x00300030u : 0x00c000c0u, FIRST == 64 ? 0x54005400u : 0x4c004c00u));
  const half2 slope = fma(v, half2(unit * half(0.5f)), half2(unit * half(16.5f - float(FIRST))));
  return fma(v, slope, half2(unit * half(8.0f + float(FIRST) * (0.5f * float(FIRST) - 16.5f))));
}

// s + Σ ±m * y for the magnitudes of an entry of IQ2.
template <typename Y>
static inline float add_iq2(uint entry, uint signs, thread const Y & y, float s) {
  const half u = unit_of<64>(y);
  const uint upper = codes_of(entry), lower = upper << 4;
  return add_signed_products<64>(iq2_magnitudes<64>(lower, u), iq2_magnitudes<16>(lower, u),
                                 iq2_magnitudes<64>(upper, u), iq2_magnitudes<16>(upper, u), signs, y, s);
}

// The first four values (u = 0) or the last four (u = 1) of an entry of IQ2.
static inline half4 iq2_numbers(uint entry, uint signs, uint u) {
  const half one = half(1.0f);
  const uint q = codes_of(entry) << 4u * (1u - u);
  return four_halves(with_signs(iq2_magnitudes<64>(q, one), sign_bits(signs, 4u * u)), with_signs(iq2_magnitudes<16>(q, one), sign_bits(signs, 4u * u + 1u)));
}

static inline float iq2_value(uint entry, uint i, uint signs) {
  const float n = float(code_of(entry, i)), m = fma(0.5f * n, n + 33.0f, 8.0f);
  return signs >> i & 1u ? -m : m;
}

static inline float byte_value(uint entry, uint i, uint signs) {
  const float m = float(entry >> i % 4u * 8u & 255u);
  return signs >> i & 1u ? -m : m;
}

// s + Σ value * y for an entry of IQ1.
template <typename Y>
static inline float add_iq1(uint entry, thread const Y & y, float s) {
  const half u = unit_of<1>(y);
  const uint q = codes_of(entry);
  return add_products<1>(numbers_at(q, 0x00030003u, 0u, 1.0f, u), numbers_at(q, 0x00030003u, 2u, 1.0f, u),
                         numbers_at(q, 0x00030003u, 4u, 1.0f, u), numbers_at(q, 0x00030003u, 6u, 1.0f, u), y, s);
}

// The first four values (u = 0) or the last four (u = 1) of an entry of IQ1.
static inline half4 iq1_numbers(uint entry, uint u) {
  const uint q = codes_of(entry) >> 4u * u;
  return four_halves(numbers_at(q, 0x00030003u, 0u, 1.0f, half(1.0f)), numbers_at(q, 0x00030003u, 2u, 1.0f, half(1.0f)));
}
