// Products of bfloat16 on AMX tiles, summed in float32, and the memory for what is between them.

#ifndef TINYCHAT_TILES_H
#define TINYCHAT_TILES_H

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t bf16;

// An Arena is memory that is freed at once, when a row is done.
typedef struct { char *base; size_t used, size; } Arena;

static void *take(Arena *a, size_t bytes) {
	bytes = (bytes + 63) & ~(size_t)63;
	if (a->used + bytes > a->size) abort();
	void *p = a->base + a->used;
	a->used += bytes;
	return p;
}

#define FLOATS(arena, n) ((float *)take(arena, (size_t)(n) * sizeof(float)))
#define HALVES(arena, n) ((bf16 *)take(arena, (size_t)(n) * sizeof(bf16)))

static int round32(int n) { return (n + 31) & ~31; }

static void configure_tiles(void) {
	struct { uint8_t palette, start, zero[14]; uint16_t bytes[16]; uint8_t rows[16]; } c = {.palette = 1};
	for (int i = 0; i < 8; i++) c.bytes[i] = 64, c.rows[i] = 16;
	_tile_loadconfig(&c);
}

static void to_bf16(const float *x, bf16 *y, size_t n) {
	for (size_t i = 0; i < n; i += 16) _mm256_storeu_si256((void *)(y + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i)));
}

// pack_rows makes tiles of b [k][n]: two of its rows side by side.
static void pack_rows(const bf16 *b, int ld, int k, int n, bf16 *out) {
	for (int n0 = 0; n0 < n; n0 += 16)
		for (int k0 = 0; k0 < k; k0 += 2, out += 32) {
			__m512i lo = _mm512_cvtepu16_epi32(_mm256_loadu_si256((void *)(b + (size_t)k0 * ld + n0)));
			__m512i hi = _mm512_cvtepu16_epi32(_mm256_loadu_si256((void *)(b + (size_t)(k0 + 1) * ld + n0)));
			_mm512_storeu_si512(out, _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16)));
		}
}

// pack_columns makes tiles of the transpose of b [n][k].
static void pack_columns(const bf16 *b, int ld, int k, int n, bf16 *out) {
	const __m512i row = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
	                                       _mm512_set1_epi32(ld / 2));
	for (int n0 = 0; n0 < n; n0 += 16)
		for (int k0 = 0; k0 < k; k0 += 2, out += 32)
			_mm512_storeu_si512(out, _mm512_i32gather_epi32(row, b + (size_t)n0 * ld + k0, 4));
}

// transpose makes out [n][m] of x [m][n].
static void transpose(const bf16 *x, int ld, int m, int n, bf16 *out) {
	const __m512i row = _mm512_slli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), 4);
	bf16 tile[512] __attribute__((aligned(64)));
	for (int m0 = 0; m0 < m; m0 += 32)
		for (int n0 = 0; n0 < n; n0 += 16) {
			pack_rows(x + (size_t)m0 * ld + n0, ld, 32, 16, tile);
			for (int i = 0; i < 16; i++)
				_mm512_storeu_si512(out + (size_t)(n0 + i) * m + m0, _mm512_i32gather_epi32(row, tile + 2 * i, 4));
		}
}

// multiply: c [m][n] = or += a [m][k] times packed b. Causal products leave out blocks above the diagonal.
static void multiply(int m, int n, int k, const bf16 *a, int lda, const bf16 *b, float *c, int ldc, int add, int causal) {
	for (int n0 = 0; n0 < n; n0 += 32)
		for (int m0 = causal ? n0 : 0; m0 < m; m0 += 32) {
			float *out = c + (size_t)m0 * ldc + n0;
			const bf16 *upper = a + (size_t)m0 * lda, *lower = upper + (size_t)16 * lda;
			const bf16 *left = b + (size_t)n0 * k, *right = left + (size_t)16 * k;
			if (add) {
				_tile_loadd(0, out, ldc * 4);
				_tile_loadd(1, out + 16, ldc * 4);
				_tile_loadd(2, out + 16 * ldc, ldc * 4);
				_tile_loadd(3, out + 16 * ldc + 16, ldc * 4);
			} else {
				_tile_zero(0);
				_tile_zero(1);
				_tile_zero(2);
				_tile_zero(3);
			}
			for (int k0 = 0; k0 < k; k0 += 32) {
				_tile_loadd(4, upper + k0, lda * 2);
				_tile_loadd(6, left + 16 * k0, 64);
				_tile_dpbf16ps(0, 4, 6);
				_tile_loadd(7, right + 16 * k0, 64);
				_tile_dpbf16ps(1, 4, 7);
				_tile_loadd(5, lower + k0, lda * 2);
				_tile_dpbf16ps(2, 5, 6);
				_tile_dpbf16ps(3, 5, 7);
			}
			_tile_stored(0, out, ldc * 4);
			_tile_stored(1, out + 16, ldc * 4);
			_tile_stored(2, out + 16 * ldc, ldc * 4);
			_tile_stored(3, out + 16 * ldc + 16, ldc * 4);
		}
}

#endif
