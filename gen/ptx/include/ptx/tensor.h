// The instructions of the tensor cores that matrices of 8 x 8 need. A fragment
// is what a lane holds of a matrix: two elements of a row.
#pragma once

namespace metal {
namespace tensor {
// The fragment of the transposed matrix.
METAL_FUNC uint transpose(uint pair) {
  uint turned;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(pair));
  return turned;
}

// Fragments of four matrices in shared memory, or of their transposes. Lane 8 i + r gives where row r of
// matrix i begins, at a multiple of 16 bytes.
template <bool TRANSPOSED>
METAL_FUNC void load_four(uint (&v)[4], const half *row) {
  const uint at = uint(ulong((__attribute__((address_space(3))) void *)row));
  if constexpr (TRANSPOSED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
}

// c + a b with exact products and sums in float; b is the fragment of its transpose.
// The cores have 16 rows: the upper half is zero.
METAL_FUNC float2 multiply_add(uint a, uint b, float2 c) {
  float x, y, upper[2];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %9};"
      : "=f"(x), "=f"(y), "=f"(upper[0]), "=f"(upper[1])
      : "r"(a), "r"(0u), "r"(b), "f"(c.x), "f"(c.y), "f"(0.0f));
  return make<float2>(x, y);
}

// The same for 16 rows: the sums c of the lower 8 come from a[0], those of the upper 8,
// d, from a[1]. With four fragments in a and two in b, c and d get a[0] b[0] + a[2] b[1]
// and a[1] b[0] + a[3] b[1].
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
