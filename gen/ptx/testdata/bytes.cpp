// Compares what integer.h makes of bytes by one instruction, which here follows the PTX manual
// (prmt without a mode), with what templates/msl/weights/blocks.metal says of each macro.
#include <stdint.h>
#include <stdio.h>

#define METAL_FUNC inline
typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));

template <typename T, typename U>
T as_type(U u) {
  return __builtin_bit_cast(T, u);
}

// Each digit of which names one of the eight bytes of b and a; its highest bit, which nobody
// sets here, would repeat the byte's sign.
static int __nvvm_prmt(int a, int b, int which) {
  const uint64_t bytes = uint64_t(uint(b)) << 32 | uint(a);
  uint r = 0;
  for (int i = 0; i < 4; ++i) r |= uint(bytes >> (which >> 4 * i & 7) * 8 & 255) << 8 * i;
  return int(r);
}

#include "ptx/integer.h"

static int wrong = 0;

static void want(const char *name, half2 got, uint low, uint high) {
  if (as_type<uint>(got) != (low | high << 16)) {
    printf("%s: got %08x, want %08x\n", name, as_type<uint>(got), low | high << 16);
    wrong = 1;
  }
}

int main() {
  uint a = 1, b = 2;
  for (int i = 0; i < 10000; ++i) {
    a = a * 1664525u + 1013904223u, b = b * 22695477u + 1u;
    want("LOWER_HALVES", LOWER_HALVES(a, b), a & 0xffffu, b & 0xffffu);
    want("UPPER_HALVES", UPPER_HALVES(a, b), a >> 16, b >> 16);
    for (uint shift = 0; shift <= 16; shift += 16)
      want("SIXTEENS", as_type<half2>(SIXTEENS(a, b, shift)), a >> shift & 0xffffu, b >> shift & 0xffffu);
    want("LOWER_BYTES_PLUS_1024", LOWER_BYTES_PLUS_1024(a), 0x6400u | (a & 255u), 0x6400u | (a >> 8 & 255u));
    want("UPPER_BYTES_PLUS_1024", UPPER_BYTES_PLUS_1024(a), 0x6400u | (a >> 16 & 255u), 0x6400u | a >> 24);
    want("ODD_BYTES_PLUS_1024", ODD_BYTES_PLUS_1024(a), 0x6400u | (a >> 8 & 255u), 0x6400u | a >> 24);
  }
  return wrong;
}
