// The instructions of ptx/tensor.h that the kernels of heads have, as those of testdata/warp, for many
// simdgroups and with one exchange each.
#pragma once

namespace metal {
namespace tensor {
inline float element(uint pair, uint i) { return float(as_type<half2>(pair)[i]); }

inline uint transpose(uint) { abort(); }

template <bool TRANSPOSED>
inline void load_four(uint (&v)[4], const half *row) {
  if (ulong(row) % 16) abort();
  const half *const *rows = fibers::exchange(row);
  const uint g = fibers::lane() / 4, t = fibers::lane() % 4;
  for (uint n = 0; n < 4; ++n) {
    half2 pair;
    for (uint i = 0; i < 2; ++i) pair[i] = TRANSPOSED ? rows[8 * n + 2 * t + i][g] : rows[8 * n + g][2 * t + i];
    v[n] = as_type<uint>(pair);
  }
}

inline float2 multiply_add(uint, uint, float2) { abort(); }
inline void multiply_add(const uint (&)[2], const uint (&)[1], float2 &, float2 &) { abort(); }

struct operands {
  uint a[4], b[2];
};
inline void multiply_add(const uint (&a)[4], const uint (&b)[2], float2 &c, float2 &d) {
  const operands *all = fibers::exchange(operands{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  const uint g = fibers::lane() / 4, t = fibers::lane() % 4;
  for (uint i = 0; i < 2; ++i) {
    for (uint k = 0; k < 16; ++k) { // eight columns are in the pairs of four lanes
      const uint lane = k % 8 / 2, part = k / 8;
      const float right = element(all[(2 * t + i) * 4 + lane].b[part], k % 2);
      c[i] += element(all[g * 4 + lane].a[2 * part], k % 2) * right;
      d[i] += element(all[g * 4 + lane].a[2 * part + 1], k % 2) * right;
    }
  }
}
}
}
