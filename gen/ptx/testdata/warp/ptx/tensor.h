// The instructions of ptx/tensor.h by the fragment layouts in the PTX manual, sections
// "movmatrix" and "Matrix Fragments for mma.m16n8k8" and for "mma.m16n8k16", .f16. g and t are its groupID and
// threadID_in_group.
#pragma once

namespace metal {
namespace tensor {
inline half2 pair_of(uint bits) { return as_type<half2>(bits); }

inline uint transpose(uint pair) {
  exchange<uint> all(pair);
  const uint g = lane / 4, t = lane % 4;
  half2 turned;
  for (uint i = 0; i < 2; ++i) turned[i] = pair_of(all.of[(2 * t + i) * 4 + g / 2])[g % 2];
  return as_type<uint>(turned);
}

// "ldmatrix": thread 8 i + r gives row r of matrix i; a thread gets elements 2t + i of row g, or with
// .trans of column g.
template <bool TRANSPOSED>
inline void load_four(uint (&v)[4], const half *row) {
  exchange<const half *> rows(row);
  const uint g = lane / 4, t = lane % 4;
  for (uint n = 0; n < 4; ++n) {
    half2 pair;
    for (uint i = 0; i < 2; ++i) pair[i] = TRANSPOSED ? rows.of[8 * n + 2 * t + i][g] : rows.of[8 * n + g][2 * t + i];
    v[n] = as_type<uint>(pair);
  }
}

inline float2 multiply_add(uint a, uint b, float2 c) {
  half rows[8][8], columns[8][8];
  exchange<uint> left(a);
  for (uint l = 0; l < 32; ++l) {
    for (uint i = 0; i < 2; ++i) rows[l / 4][l % 4 * 2 + i] = pair_of(left.of[l])[i]; // a0, a1: row g, column 2t + i
  }
  exchange<uint> right(b);
  for (uint l = 0; l < 32; ++l) {
    for (uint i = 0; i < 2; ++i) columns[l % 4 * 2 + i][l / 4] = pair_of(right.of[l])[i]; // b0, b1: row 2t + i, column g
  }
  for (uint i = 0; i < 2; ++i) { // c0, c1: row g, column 2t + i
    for (uint k = 0; k < 8; ++k) c[i] += float(rows[lane / 4][k]) * float(columns[k][lane % 4 * 2 + i]);
  }
  return c;
}

// m16n8k16: quarters of the left operand, halves of the right one, and of the sums.
inline void multiply_add(const uint (&a)[4], const uint (&b)[2], float2 &c, float2 &d) {
  half rows[16][16], columns[16][8];
  for (uint n = 0; n < 4; ++n) { // row g, or g + 8 for a1 and a3; column 2t + i, or 8 further for a2 and a3
    exchange<uint> left(a[n]);
    for (uint l = 0; l < 32; ++l) {
      for (uint i = 0; i < 2; ++i) rows[l / 4 + n % 2 * 8][l % 4 * 2 + i + n / 2 * 8] = pair_of(left.of[l])[i];
    }
  }
  for (uint n = 0; n < 2; ++n) { // row 2t + i, or 8 further for b1, column g
    exchange<uint> right(b[n]);
    for (uint l = 0; l < 32; ++l) {
      for (uint i = 0; i < 2; ++i) columns[l % 4 * 2 + i + n * 8][l / 4] = pair_of(right.of[l])[i];
    }
  }
  for (uint i = 0; i < 2; ++i) { // row g, and row g + 8, column 2t + i
    for (uint k = 0; k < 16; ++k) {
      c[i] += float(rows[lane / 4][k]) * float(columns[k][lane % 4 * 2 + i]);
      d[i] += float(rows[lane / 4 + 8][k]) * float(columns[k][lane % 4 * 2 + i]);
    }
  }
}
}
}
