// What the formats IQ1 to IQ3 share: eights of columns whose values are entries of a code book.
// The books are tables in constant memory, which gen/msl prints after this file. Lanes look up
// entries of their own choice. An Apple GPU reads such a table through the cache of the core, as it
// reads weights: the largest has 8 kB, and what a block names stays there. A copy in threadgroup
// memory would be made by every threadgroup before its first product, where a token's has few, and
// would take that memory from inputs. NVIDIA's translation makes the table one in device memory,
// since constant memory there serves one address at a time. Entries have 4 bytes: half of those of
// ggml's tables for eight values, so that twice as many are in the cache. Nothing of this was
// measured on an Apple GPU.

// Bits 0 to 3 of a number as bit 0 of its 4 bytes.
static inline uint four_bits(uint bits) { return (bits & 15u) * 0x00204081u & 0x01010101u; }

// The signs of an eight: seven that are given, and one that makes the number of negative ones even.
static inline uint even_signs(uint seven) {
  const uint s = seven & 127u;
  return s | (popcount(s) & 1u) << 7;
}

// 64 plus or less the 4 bytes of m, all below 64, as bits 0 to 3 of signs say. Where one is set f is
// 127, and the byte becomes 127 - m + 64 - 127; no byte borrows from the next one.
static inline uint signed_bytes(uint m, uint signs) {
  const uint n = four_bits(signs), f = (n << 7) - n;
  return (m ^ f) + 0x40404040u - f;
}

// s + Σ ±m * y of an eight: 4 bytes of m.x, then of m.y.
template <typename Y>
static inline float add_signed(uint2 m, uint signs, thread const Y & y, float s) {
  return add_bytes<64>(signed_bytes(m.x, signs), signed_bytes(m.y, signs >> 4), y, s);
}

// The magnitudes 8, 25 and 43 of IQ2 for the numbers 0 to 2 in the low nibbles of 4 bytes.
static inline uint iq2_levels(uint q) {
  const uint n = q & 0x0f0f0f0fu;
  return n * 17u + 0x08080808u + (n >> 1 & 0x01010101u);
}

// The magnitudes of an entry of IQ2.
static inline uint2 iq2_eight(uint entry) {
  uint2 m;
  m.x = iq2_levels(entry);
  m.y = iq2_levels(entry >> 4);
  return m;
}

// One magnitude or value of an entry of eight, in the order of quant.CodeBook.
static inline uint nibble_of(uint entry, uint i) { return entry >> (i % 4u * 8u + i / 4u * 4u) & 15u; }
static inline float iq2_value(uint entry, uint i, uint signs) {
  const float m = float(iq2_levels(nibble_of(entry, i)) & 255u);
  return signs >> i & 1u ? -m : m;
}
static inline float byte_value(uint entry, uint i, uint signs) {
  const float m = float(entry >> i % 4u * 8u & 255u);
  return signs >> i & 1u ? -m : m;
}

// Eight times the values -1, 0 and 1 of IQ1, plus or less 1, for the numbers 0 to 2 in the low
// nibbles of 4 bytes; all are 16 more.
static inline uint iq1_levels(uint q, bool minus) { return (q & 0x0f0f0f0fu) * 8u + (minus ? 0x07070707u : 0x09090909u); }
template <typename Y>
static inline float add_iq1(uint entry, bool minus, thread const Y & y, float s) {
  return add_bytes<16>(iq1_levels(entry, minus), iq1_levels(entry >> 4, minus), y, s);
}
