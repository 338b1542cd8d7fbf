// Integer functions.
#pragma once

namespace metal {
METAL_FUNC uint popcount(uint x) { return uint(__builtin_popcount(x)); }
METAL_FUNC uint clz(uint x) { return x ? uint(__builtin_clz(x)) : 32u; }
METAL_FUNC uint ctz(uint x) { return x ? uint(__builtin_ctz(x)) : 32u; }
METAL_FUNC uint reverse_bits(uint x) { return __builtin_bitreverse32(x); }
METAL_FUNC uint rotate(uint x, uint n) { return __builtin_rotateleft32(x, n); }
METAL_FUNC uint mulhi(uint a, uint b) { return uint((ulong(a) * b) >> 32); }
METAL_FUNC int mulhi(int a, int b) { return int((long(a) * b) >> 32); }
METAL_FUNC ulong mulhi(ulong a, ulong b) { return ulong(((unsigned __int128)a * b) >> 64); }
METAL_FUNC uint extract_bits(uint x, uint offset, uint bits) { return bits == 0 ? 0u : (x >> offset) & (~0u >> (32u - bits)); }

// (a & b) | c in one instruction (lop3). The compiler would load each constant with an instruction of its own.
METAL_FUNC uint and_or(uint a, uint b, uint c) {
  uint r;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

// Four of the eight bytes of a and b, counted from a's lowest; a hexadecimal digit of which names each.
// The instruction is prmt.
METAL_FUNC uint bytes_of(uint a, uint b, uint which) { return uint(__nvvm_prmt(int(a), int(b), int(which))); }
}
#define AND_OR(a, b, c) metal::and_or(a, b, c)
#define LOWER_HALVES(a, b) as_type<half2>(metal::bytes_of(a, b, 0x5410u))
#define UPPER_HALVES(a, b) as_type<half2>(metal::bytes_of(a, b, 0x7632u))
#define SIXTEENS(a, b, shift) metal::bytes_of(a, b, 0x5410u + ((shift) / 16u) * 0x2222u)
#define LOWER_BYTES_PLUS_1024(q) as_type<half2>(metal::bytes_of(q, 0x64006400u, 0x5150u))
#define UPPER_BYTES_PLUS_1024(q) as_type<half2>(metal::bytes_of(q, 0x64006400u, 0x5352u))
#define ODD_BYTES_PLUS_1024(q) as_type<half2>(metal::bytes_of(q, 0x64006400u, 0x5351u))
