#include "sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace msl {
namespace {

using Words = std::array<uint32_t, 8>;

// The first 32 bits of the fractional part of the square or cube root of a prime.
// Long double has the 35 bits or so that this takes.
uint32_t fraction(long double root) { return static_cast<uint32_t>((root - floorl(root)) * 4294967296.0L); }

struct Constants {
  Words start;
  std::array<uint32_t, 64> round;
  Constants() {
    unsigned n = 0;
    for (unsigned candidate = 2; n < 64; candidate++) {
      bool prime = true;
      for (unsigned d = 2; d * d <= candidate; d++) prime = prime && candidate % d;
      if (!prime) continue;
      if (n < 8) start[n] = fraction(sqrtl(candidate));
      round[n++] = fraction(cbrtl(candidate));
    }
  }
};

void compress(Words &state, const uint8_t *block, const Constants &k) {
  std::array<uint32_t, 64> w;
  for (int i = 0; i < 16; i++)
    w[i] = uint32_t(block[4 * i]) << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    const uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; i++) {
    const uint32_t x = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k.round[i] + w[i];
    const uint32_t y = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
  }
  const Words sums = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) state[i] += sums[i];
}

}  // namespace

std::string sha256(const std::string &text) {
  static const Constants k;
  std::string padded = text + '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  for (int i = 7; i >= 0; i--) padded += static_cast<char>(8 * static_cast<uint64_t>(text.size()) >> 8 * i);
  Words state = k.start;
  for (size_t at = 0; at < padded.size(); at += 64) compress(state, reinterpret_cast<const uint8_t *>(&padded[at]), k);
  std::string out;
  for (const uint32_t word : state) {
    char hex[9];
    snprintf(hex, sizeof hex, "%08x", word);
    out += hex;
  }
  return out;
}

}  // namespace msl
