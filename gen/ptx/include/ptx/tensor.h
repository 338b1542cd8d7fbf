// Tensor core instructions for 8 x 8 matrices. A fragment is the part of a matrix that a lane holds:
// two neighbouring elements of a row.
#pragma once

namespace metal {
namespace tensor {
// Returns the fragment of the transposed matrix (movmatrix).
METAL_FUNC uint transpose(uint pair) {
  uint turned;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(pair));
  return turned;
}

// Loads the fragments of four matrices in shared memory, or of their transposes (ldmatrix). Lane 8 i + r
// passes the address of row r of matrix i, which must be aligned to 16 bytes.
template <bool TRANSPOSED>
METAL_FUNC void load_four(uint (&v)[4], const half *row) {
  const uint at = uint(ulong((__attribute__((address_space(3))) void *)row));
  if constexpr (TRANSPOSED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
}

// c + a b with exact products and float sums (mma.sync). b is the fragment of the transposed right operand.
// The instruction has 16 rows, of which the upper 8 are zero here.
METAL_FUNC float2 multiply_add(uint a, uint b, float2 c) {
  float x, y, upper[2];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %9};"
      : "=f"(x), "=f"(y), "=f"(upper[0]), "=f"(upper[1])
      : "r"(a), "r"(0u), "r"(b), "f"(c.x), "f"(c.y), "f"(0.0f));
  return make<float2>(x, y);
}

// The same for 16 rows. c, the sums of the lower 8 rows, gets a[0] b[0]; d, those of the upper 8, gets a[1]
// b[0]. With four fragments in a and two in b, c gets a[0] b[0] + a[2] b[1] and d gets a[1] b[0] + a[3] b[1].
METAL_FUNC void multiply_add(const uint (&a)[2], const uint (&b)[1], float2 &c, float2 &d) {
  float v[4] = {c.x, c.y, d.x, d.y};
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  c = {v[0], v[1]};
  d = {v[2], v[3]};
}
METAL_FUNC void multiply_add(const uint (&a)[4], const uint (&b)[2], float2 &c, float2 &d) {
  float v[4] = {c.x, c.y, d.x, d.y};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  c = {v[0], v[1]};
  d = {v[2], v[3]};
}
}
}
