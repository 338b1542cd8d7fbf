// Where the weights are, and the steps whose only weights are one vector or one matrix.

#ifndef TINYCHAT_MODEL_H
#define TINYCHAT_MODEL_H

#include <math.h>
#include "tiles.h"

enum {
	QK = NOPE + ROPE,   // width of a head's queries and keys
	QUERIES = HEADS * QK,
	VALUES = HEADS * VALUE,
	ALL = EXPERTS + 1,  // the shared expert is the last
	PASSES = LAYERS + MTP_STEPS,  // layers as run: the MTP layer runs once for each step
};

// A Matrix [n][k] of a layer y = x Wᵀ: packed for y, and for the gradient of x.
typedef struct { int n, k, at; bf16 *forward, *backward; } Matrix;  // at: in the flat weights and gradients
typedef struct { int width, at; } Vector;

typedef struct {
	Vector attn_norm, q_a_norm, kv_a_norm, ffn_norm;
	Matrix q_a, q_b, kv_a, k_b, v_b, out;  // amx.py turns each head of k_b to [nope][latent]
	int dense;
	Matrix gate[ALL], up[ALL], down[ALL];  // dense layers have the last one only
	int router;
	const float *bias;  // [EXPERTS]
	float *load;
} Layer;

typedef struct {
	Layer layer[LAYERS + 1];
	int embedding;
	Matrix output, eh_proj;
	Vector output_norm, enorm, hnorm, shared_head_norm;
	const float *weights;
} Model;

// A Thread has its own gradients, which are summed when all rows are done.
typedef struct { const Model *model; float *gradients; Arena arena; const float *cos, *sin; double loss[1 + MTP_STEPS]; } Thread;

static void linear(int rows, const bf16 *x, int ldx, const Matrix *w, float *y, int ldy, int add) {
	multiply(rows, w->n, w->k, x, ldx, w->forward, y, ldy, add, 0);
}

// weight_gradient: g [n][k] += dyᵀ x.
static void weight_gradient(Arena *arena, int rows, const bf16 *dy, int lddy, int n, const bf16 *x, int ldx, int k, float *g) {
	size_t mark = arena->used;
	bf16 *t = HALVES(arena, n * rows), *p = HALVES(arena, k * rows);
	transpose(dy, lddy, rows, n, t);
	pack_rows(x, ldx, rows, k, p);
	multiply(n, k, rows, t, rows, p, g, k, 1, 0);
	arena->used = mark;
}

// linear_back adds the gradient of the weights, and sets or adds to that of x [rows][k].
static void linear_back(Thread *t, int rows, const float *dy, const bf16 *x, int ldx, const Matrix *w, float *dx, int add) {
	size_t mark = t->arena.used;
	bf16 *d = HALVES(&t->arena, rows * w->n);
	to_bf16(dy, d, (size_t)rows * w->n);
	multiply(rows, w->k, w->n, d, w->n, w->backward, dx, w->k, add, 0);
	weight_gradient(&t->arena, rows, d, w->n, w->n, x, ldx, w->k, t->gradients + w->at);
	t->arena.used = mark;
}

static void norm(const Model *m, Vector v, int rows, const float *x, int ldx, float *inv, float *y, int ldy) {
	const float *g = m->weights + v.at;
	for (int r = 0; r < rows; r++, x += ldx, y += ldy) {
		float sum = 0;
		for (int i = 0; i < v.width; i++) sum += x[i] * x[i];
		float s = inv[r] = 1 / sqrtf(sum / v.width + EPSILON);
		for (int i = 0; i < v.width; i++) y[i] = x[i] * s * g[i];
	}
}

// norm_back adds to dx.
static void norm_back(Thread *t, Vector v, int rows, const float *x, int ldx, const float *inv, const float *dy, int lddy, float *dx, int lddx) {
	const float *g = t->model->weights + v.at;
	float *dg = t->gradients + v.at;
	for (int r = 0; r < rows; r++, x += ldx, dy += lddy, dx += lddx) {
		float s = inv[r], sum = 0;
		for (int i = 0; i < v.width; i++) sum += g[i] * dy[i] * x[i];
		sum *= s * s / v.width;
		for (int i = 0; i < v.width; i++) {
			dg[i] += dy[i] * x[i] * s;
			dx[i] += s * (g[i] * dy[i] - x[i] * sum);
		}
	}
}

// rotate turns neighbouring pairs of one row by its angles, or back if sign is -1.
static void rotate(const Thread *t, int row, float *x, float sign) {
	const float *c = t->cos + row * (ROPE / 2), *s = t->sin + row * (ROPE / 2);
	for (int i = 0; i < ROPE / 2; i++) {
		float a = x[2 * i], b = x[2 * i + 1], sine = sign * s[i];
		x[2 * i] = a * c[i] - b * sine;
		x[2 * i + 1] = a * sine + b * c[i];
	}
}

#endif
