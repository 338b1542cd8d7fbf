// What the formats IQ1 to IQ3 share: eights of columns whose values are entries of a code book.
// The books are tables in constant memory, which gen/msl prints after this file. Lanes look up
// entries of their own choice. An Apple GPU reads such a table through the cache of the core, as it
// reads weights: the largest has 8 kB, and what a block names stays there. A copy in threadgroup
// memory would be made by every threadgroup before its first product, where a token's has few, and
// would take that memory from inputs. NVIDIA's translation makes the table one in device memory,
// since constant memory there serves one address at a time. Entries have 2 bytes for eight values, a fourth of
// those of ggml's tables, and 4 for four: so that more of them are in the cache, and in a line of it. Nothing of this was
// measured on an Apple GPU.

// Bits 0 to 3 of a number as bit 0 of its 4 bytes.
static inline uint four_bits(uint bits) { return (bits & 15u) * 0x00204081u & 0x01010101u; }

// The signs of an eight, bits 0 to 7: seven that are given, and one that makes the number of negative ones even. The two
// bits after them may be any: nobody reads them.
static inline uint even_signs(uint seven) {
  const uint s = seven & 127u;
  return s + (popcount(s) << 7);
}

// 64 plus or less the 4 bytes of m, all below 64, as bits 0 to 3 of signs say. Where one is set f is
// 127, and the byte becomes 127 - m + 64 - 127; no byte borrows from the next one.
static inline uint signed_bytes(uint m, uint signs) {
  const uint n = four_bits(signs), f = (n << 7) - n;
  return (m ^ f) + 0x40404040u - f;
}

// s + Σ ±m * y of an eight: 4 bytes of m.x, then of m.y.
template <short RANGE, typename Y>
static inline float add_signed(uint2 m, uint signs, thread const Y & y, float s) {
  const half u = unit_of<RANGE>(y);
  return add_signed_products<RANGE>(lowered<0>(m.x, 0x00ff00ffu, u), without_1024<0>(ODD_BYTES_PLUS_1024(m.x), u),
                                    lowered<0>(m.y, 0x00ff00ffu, u), without_1024<0>(ODD_BYTES_PLUS_1024(m.y), u), signs, y, s);
}

// The codes of an entry of eight, two bits each, in the lower 8 bits of 16 bits each: of values 0, 1, 4 and 5, and of 2,
// 3, 6 and 7. What is above them may be any. See quant.CodeBook.
static inline uint codes_of(uint entry) { return entry | entry << 8; }

static inline uint code_of(uint entry, uint i) { return entry >> (i % 4u / 2u * 8u + i / 4u * 4u + i % 2u * 2u) & 3u; }

// Four halves of two pairs: 0 and 2, 1 and 3.
static inline half4 four_halves(half2 even, half2 odd) {
  half4 v;
  v.x = even.x;
  v.y = odd.x;
  v.z = even.y;
  v.w = odd.y;
  return v;
}

// The magnitudes 8, 25 and 43 of IQ2 for the codes n in bits 4 and 5, or 6 and 7, of each 16 bits, in units. With
// v = FIRST + n, which is a half with n in these bits, n / 2 (n + 33) + 8 is a product of two sums of v, less a
// number: all exact.
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

// The first four values of an entry, or with u 1 the last four.
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

// The first four values of an entry, or with u 1 the last four.
static inline half4 iq1_numbers(uint entry, uint u) {
  const uint q = codes_of(entry) >> 4u * u;
  return four_halves(numbers_at(q, 0x00030003u, 0u, 1.0f, half(1.0f)), numbers_at(q, 0x00030003u, 2u, 1.0f, half(1.0f)));
}
