// The network of a layer: experts, of which each sees its own tokens only, and the way back.

#ifndef TINYCHAT_EXPERTS_H
#define TINYCHAT_EXPERTS_H

#include "latent.h"

// route chooses experts in float32, and lists the rows of each. The shared expert has all.
static void route(Thread *t, const Layer *l, int rows, Saved *s) {
	const float *w = t->model->weights + l->router;
	s->scores = FLOATS(&t->arena, rows * EXPERTS), s->share = FLOATS(&t->arena, rows * ALL);
	s->token = take(&t->arena, sizeof(int) * ((size_t)rows * (USED + 1) + 32 * ALL));
	memset(s->share, 0, (size_t)rows * ALL * 4);
	for (int r = 0; r < rows; r++) {
		const float *x = s->h2f + (size_t)r * HIDDEN;
		float *score = s->scores + r * EXPERTS, *share = s->share + r * ALL, sum = 0;
		int chosen[USED];
		for (int e = 0; e < EXPERTS; e++) {
			float z = 0;
			for (int i = 0; i < HIDDEN; i++) z += x[i] * w[e * HIDDEN + i];
			score[e] = 1 / (1 + expf(-z));
		}
		for (int u = 0; u < USED; u++) {
			int best = -1;
			for (int e = 0; e < EXPERTS; e++)
				if (share[e] == 0 && (best < 0 || score[e] + l->bias[e] > score[best] + l->bias[best])) best = e;
			chosen[u] = best, share[best] = 1, sum += score[best];
		}
		for (int u = 0; u < USED; u++) share[chosen[u]] = score[chosen[u]] / sum * ROUTED_SCALE;
		share[EXPERTS] = 1;
	}
	int at = 0;
	for (int e = 0; e < ALL; e++) {
		s->first[e] = at, s->count[e] = 0;
		for (int r = 0; r < rows; r++)
			if (s->share[r * ALL + e] != 0) s->token[at + s->count[e]++] = r;
		at += round32(s->count[e]);
		if (e < EXPERTS) {
			#pragma omp atomic
			l->load[e] += s->count[e];
		}
	}
	s->first[ALL] = at;
}

static void gather(const bf16 *x, const int *token, int count, int padded, bf16 *out) {
	for (int i = 0; i < count; i++) memcpy(out + (size_t)i * HIDDEN, x + (size_t)token[i] * HIDDEN, HIDDEN * sizeof(bf16));
	memset(out + (size_t)count * HIDDEN, 0, (size_t)(padded - count) * HIDDEN * sizeof(bf16));
}

static float silu(float x) { return x / (1 + expf(-x)); }

// expert_inner: out = silu(gate) up, times the share of each row.
static void expert_inner(const Saved *s, int e, int width, const float *gate, const float *up, float *tmp, bf16 *out) {
	int rows = s->count[e], padded = s->first[e + 1] - s->first[e];
	for (int i = 0; i < rows; i++) {
		float share = s->share[s->token[s->first[e] + i] * ALL + e];
		for (int j = 0; j < width; j++) tmp[(size_t)i * width + j] = silu(gate[(size_t)i * width + j]) * up[(size_t)i * width + j] * share;
	}
	memset(tmp + (size_t)rows * width, 0, (size_t)(padded - rows) * width * 4);
	to_bf16(tmp, out, (size_t)padded * width);
}

// ffn_forward: out = x1 + the network. A dense layer is a shared expert alone.
static void ffn_forward(Thread *t, const Layer *l, int rows, Saved *s, float *out) {
	Arena *a = &t->arena;
	int width = l->gate[EXPERTS].n;
	s->inv_ffn = FLOATS(a, rows), s->h2f = FLOATS(a, rows * HIDDEN), s->h2 = HALVES(a, rows * HIDDEN);
	norm(t->model, l->ffn_norm, rows, s->x1, HIDDEN, s->inv_ffn, s->h2f, HIDDEN);
	to_bf16(s->h2f, s->h2, (size_t)rows * HIDDEN);
	if (l->dense) {
		s->share = FLOATS(a, rows * ALL), s->token = take(a, sizeof(int) * rows);
		memset(s->first, 0, sizeof s->first), memset(s->count, 0, sizeof s->count);
		s->count[EXPERTS] = s->first[ALL] = rows;
		for (int r = 0; r < rows; r++) s->share[r * ALL + EXPERTS] = 1, s->token[r] = r;
	} else {
		route(t, l, rows, s);
	}
	s->gate = FLOATS(a, s->first[ALL] * width), s->up = FLOATS(a, s->first[ALL] * width);
	memcpy(out, s->x1, (size_t)rows * HIDDEN * 4);
	for (int e = l->dense ? EXPERTS : 0; e < ALL; e++) {
		int first = s->first[e], n = s->first[e + 1] - first;
		if (n == 0) continue;
		size_t mark = a->used;
		bf16 *x = HALVES(a, n * HIDDEN), *inner = HALVES(a, n * width);
		float *tmp = FLOATS(a, n * width), *y = FLOATS(a, n * HIDDEN), *gate = s->gate + (size_t)first * width, *up = s->up + (size_t)first * width;
		gather(s->h2, s->token + first, s->count[e], n, x);
		linear(n, x, HIDDEN, &l->gate[e], gate, width, 0);
		linear(n, x, HIDDEN, &l->up[e], up, width, 0);
		expert_inner(s, e, width, gate, up, tmp, inner);
		linear(n, inner, width, &l->down[e], y, HIDDEN, 0);
		for (int i = 0; i < s->count[e]; i++) {
			float *to = out + (size_t)s->token[first + i] * HIDDEN;
			for (int j = 0; j < HIDDEN; j++) to[j] += y[(size_t)i * HIDDEN + j];
		}
		a->used = mark;
	}
}

// router_back takes the gradient of each row's shares, adds to those of the router's weights and of its input.
static void router_back(Thread *t, const Layer *l, int rows, const Saved *s, const float *dshare, float *dh) {
	const float *w = t->model->weights + l->router;
	float *dw = t->gradients + l->router;
	for (int r = 0; r < rows; r++) {
		const float *score = s->scores + r * EXPERTS, *share = s->share + r * ALL, *d = dshare + r * ALL;
		const float *x = s->h2f + (size_t)r * HIDDEN;
		float sum = 0, weighted = 0;
		for (int e = 0; e < EXPERTS; e++)
			if (share[e] != 0) sum += score[e], weighted += d[e] * score[e];
		for (int e = 0; e < EXPERTS; e++) {
			if (share[e] == 0) continue;
			float dz = ROUTED_SCALE / sum * (d[e] - weighted / sum) * score[e] * (1 - score[e]);
			for (int i = 0; i < HIDDEN; i++) {
				dw[e * HIDDEN + i] += dz * x[i];
				dh[(size_t)r * HIDDEN + i] += dz * w[e * HIDDEN + i];
			}
		}
	}
}

// ffn_back takes the gradient of the layer's output in dx and adds to it: that of x1.
static void ffn_back(Thread *t, const Layer *l, int rows, const Saved *s, float *dx) {
	Arena *a = &t->arena;
	size_t mark = a->used;
	int width = l->gate[EXPERTS].n;
	bf16 *dxh = HALVES(a, rows * HIDDEN);
	float *dh = FLOATS(a, rows * HIDDEN), *dshare = FLOATS(a, rows * ALL);
	to_bf16(dx, dxh, (size_t)rows * HIDDEN);
	memset(dh, 0, (size_t)rows * HIDDEN * 4);
	memset(dshare, 0, (size_t)rows * ALL * 4);
	for (int e = l->dense ? EXPERTS : 0; e < ALL; e++) {
		int first = s->first[e], n = s->first[e + 1] - first;
		if (n == 0) continue;
		size_t inner_mark = a->used;
		const float *gate = s->gate + (size_t)first * width, *up = s->up + (size_t)first * width;
		bf16 *x = HALVES(a, n * HIDDEN), *dy = HALVES(a, n * HIDDEN), *inner = HALVES(a, n * width);
		float *din = FLOATS(a, n * width), *dgate = FLOATS(a, n * width), *dup = FLOATS(a, n * width), *de = FLOATS(a, n * HIDDEN);
		gather(s->h2, s->token + first, s->count[e], n, x);
		gather(dxh, s->token + first, s->count[e], n, dy);
		expert_inner(s, e, width, gate, up, dgate, inner);
		multiply(n, width, HIDDEN, dy, HIDDEN, l->down[e].backward, din, width, 0, 0);
		weight_gradient(a, n, dy, HIDDEN, HIDDEN, inner, width, width, t->gradients + l->down[e].at);
		for (int i = 0; i < n; i++) {
			int row = i < s->count[e] ? s->token[first + i] : 0;
			float share = i < s->count[e] ? s->share[row * ALL + e] : 0, sum = 0;
			for (int j = 0; j < width; j++) {
				size_t at = (size_t)i * width + j;
				float sigma = 1 / (1 + expf(-gate[at])), z = gate[at] * sigma, d = din[at];
				sum += d * z * up[at];
				dup[at] = d * share * z;
				dgate[at] = d * share * up[at] * (sigma + z * (1 - sigma));
			}
			if (i < s->count[e]) dshare[row * ALL + e] = sum;
		}
		linear_back(t, n, dgate, x, HIDDEN, &l->gate[e], de, 0);
		linear_back(t, n, dup, x, HIDDEN, &l->up[e], de, 1);
		for (int i = 0; i < s->count[e]; i++) {
			float *to = dh + (size_t)s->token[first + i] * HIDDEN;
			for (int j = 0; j < HIDDEN; j++) to[j] += de[(size_t)i * HIDDEN + j];
		}
		a->used = inner_mark;
	}
	if (!l->dense) router_back(t, l, rows, s, dshare, dh);
	norm_back(t, l->ffn_norm, rows, s->x1, HIDDEN, s->inv_ffn, dh, HIDDEN, dx, HIDDEN);
	a->used = mark;
}

#endif
