// d[m ds] += Σ a[m ar + k ac] b[k bs] over k < K, for all m < M: the inner step of products of larger
// matrices. A platform whose matrix units take 2 × 2 blocks, and which specifies the elements of a lane,
// defines its own versions of these functions.
#ifndef MULTIPLY_BLOCKS
#define MULTIPLY_BLOCKS
template <uint M, uint K>
static inline void multiply_blocks(thread simdgroup_float8x8 * d, uint ds, thread const simdgroup_half8x8 * a, uint ar, uint ac,
                                   thread const simdgroup_half8x8 * b, uint bs) {
  UNROLL for (uint k = 0; k < K; ++k) {
    UNROLL for (uint m = 0; m < M; ++m) simdgroup_multiply_accumulate(d[m * ds], a[m * ar + k * ac], b[k * bs], d[m * ds]);
  }
}

// Multiplies the rows of N blocks by the diagonal of a block in memory. The other elements of that block must be 0.
template <uint N>
static inline void scale_rows(thread simdgroup_float8x8 * d, threadgroup const float * factors) {
  simdgroup_float8x8 diagonal;
  simdgroup_load(diagonal, factors);
  UNROLL for (uint n = 0; n < N; ++n) simdgroup_multiply(d[n], diagonal, d[n]);
}

// Stores the first `blocks` of N neighbouring blocks, `height` rows of them, each row times its factor. Rows
// of `out` are n elements apart. The blocks pass through `staged`, which has memory for N blocks.
template <uint N, typename A>
static inline void store_scaled(thread const simdgroup_float8x8 * d, uint blocks, uint height, threadgroup const float * factors,
                                threadgroup float * staged, device A * out, uint n, ushort lane) {
  UNROLL for (uint i = 0; i < N; ++i) simdgroup_store(d[i], staged + 8u * i, 8u * N);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = lane; i < 16u * N; i += 32u) {
    const uint r = i / (2u * N), c = i % (2u * N);
    if (r < height && c < 2u * blocks) {
      const float4 v = *(threadgroup const float4 *)(staged + 4u * i) * factors[r];
      UNROLL for (uint e = 0; e < 4u; ++e) out[r * n + 4u * c + e] = A(v[e]);
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}
#endif

// Loads 2 × 2 blocks from rows of n halves. TURNED: as right operands, which some platforms lay out
// differently from left ones; these define LOAD_FOUR as true.
#ifndef LOAD_FOUR
#define LOAD_FOUR false
template <bool TURNED>
static inline void load_four(thread simdgroup_half8x8 * m, threadgroup const half * p, uint n, ushort) {
  UNROLL for (uint i = 0; i < 4u; ++i) simdgroup_load(m[i], p + i / 2u * 8u * n + i % 2u * 8u, n);
}
#endif

// Loads ROWS × COLUMNS blocks.
template <bool TURNED, uint ROWS, uint COLUMNS>
static inline void load_blocks(thread simdgroup_half8x8 * m, threadgroup const half * p, uint n, ushort lane) {
  UNROLL for (uint b = 0; b < ROWS * COLUMNS; ++b) {
    const uint i = b / COLUMNS, j = b % COLUMNS;
    threadgroup const half * from = p + 8u * (i * n + j);
    if ((i | 1u) >= ROWS || (j | 1u) >= COLUMNS) simdgroup_load(m[b], from, n);
    else if ((i | j) % 2u == 0u) {
      simdgroup_half8x8 four[4];
      load_four<TURNED>(four, from, n, lane);
      UNROLL for (uint k = 0; k < 4u; ++k) m[b + k / 2u * COLUMNS + k % 2u] = four[k];
    }
  }
}

// d[M][N] += a[M][K] b[K][N] in blocks; rows of blocks have dn, ak and bn blocks.
template <uint M, uint N, uint K>
static inline void multiply_matrix(thread simdgroup_float8x8 * d, uint dn, thread const simdgroup_half8x8 * a, uint ak,
                                   thread const simdgroup_half8x8 * b, uint bn) {
  UNROLL for (uint k = 0; k + 2u <= K; k += 2) {
    UNROLL for (uint n = 0; n < N; ++n) {
      UNROLL for (uint m = 0; m + 2u <= M; m += 2) multiply_blocks<2, 2>(d + m * dn + n, dn, a + m * ak + k, ak, 1, b + k * bn + n, bn);
      if (M % 2u == 1u) multiply_blocks<1, 2>(d + (M - 1u) * dn + n, dn, a + (M - 1u) * ak + k, ak, 1, b + k * bn + n, bn);
    }
  }
  if (K % 2u == 1u) {
    UNROLL for (uint n = 0; n < N; ++n) {
      UNROLL for (uint m = 0; m + 2u <= M; m += 2) multiply_blocks<2, 1>(d + m * dn + n, dn, a + m * ak + K - 1u, ak, 1, b + (K - 1u) * bn + n, bn);
      if (M % 2u == 1u) multiply_blocks<1, 1>(d + (M - 1u) * dn + n, dn, a + (M - 1u) * ak + K - 1u, ak, 1, b + (K - 1u) * bn + n, bn);
    }
  }
}
