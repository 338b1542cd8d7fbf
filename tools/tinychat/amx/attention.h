// Attention within the dialogues of a row, and the way back.

#ifndef TINYCHAT_ATTENTION_H
#define TINYCHAT_ATTENTION_H

#include "model.h"

// Where dialogues begin, and after the last one the end of the row.
typedef struct { int count; const int *begin; } Dialogues;

static void copy_head(const bf16 *x, int ldx, int rows, int padded, int width, bf16 *out) {
	for (int r = 0; r < rows; r++) memcpy(out + r * width, x + (size_t)r * ldx, width * sizeof(bf16));
	memset(out + rows * width, 0, (size_t)(padded - rows) * width * sizeof(bf16));
}

static const float score_scale = SCORE_SCALE;

// softmax_rows makes weights of scores, and lse unless it is known: [padded][padded], 0 above the diagonal.
static void softmax_rows(int rows, int padded, float *scores, float *lse, int known, bf16 *out) {
	for (int r = 0; r < rows; r++) {
		float *s = scores + (size_t)r * padded;
		if (!known) {
			float top = -INFINITY, sum = 0;
			for (int i = 0; i <= r; i++) top = fmaxf(top, s[i]);
			for (int i = 0; i <= r; i++) sum += expf((s[i] - top) * score_scale);
			lse[r * HEADS] = top * score_scale + logf(sum);
		}
		float l = lse[r * HEADS];
		for (int i = 0; i <= r; i++) s[i] = expf(s[i] * score_scale - l);
		for (int i = r + 1; i < padded; i++) s[i] = 0;
	}
	memset(scores + (size_t)rows * padded, 0, (size_t)(padded - rows) * padded * sizeof(float));
	to_bf16(scores, out, (size_t)padded * padded);
}

// attend: out [rows][VALUES], lse [rows][HEADS].
static void attend(Thread *t, Dialogues d, const bf16 *q, const bf16 *k, const bf16 *v, bf16 *out, float *lse) {
	Arena *a = &t->arena;
	for (int i = 0; i < d.count; i++) {
		int begin = d.begin[i], rows = d.begin[i + 1] - begin, n = round32(rows);
		for (int h = 0; h < HEADS; h++) {
			size_t mark = a->used;
			bf16 *qh = HALVES(a, n * QK), *kh = HALVES(a, n * QK), *vh = HALVES(a, n * VALUE);
			copy_head(q + (size_t)begin * QUERIES + h * QK, QUERIES, rows, n, QK, qh);
			copy_head(k + (size_t)begin * QUERIES + h * QK, QUERIES, rows, n, QK, kh);
			copy_head(v + (size_t)begin * VALUES + h * VALUE, VALUES, rows, n, VALUE, vh);
			bf16 *packed = HALVES(a, n * (QK > VALUE ? QK : VALUE)), *p = HALVES(a, n * n);
			float *scores = FLOATS(a, n * n), *o = FLOATS(a, n * VALUE);
			pack_columns(kh, QK, QK, n, packed);
			multiply(n, n, QK, qh, QK, packed, scores, n, 0, 1);
			softmax_rows(rows, n, scores, lse + begin * HEADS + h, 0, p);
			pack_rows(vh, VALUE, n, VALUE, packed);
			multiply(n, VALUE, n, p, n, packed, o, VALUE, 0, 0);
			for (int r = 0; r < rows; r++) to_bf16(o + r * VALUE, out + (size_t)(begin + r) * VALUES + h * VALUE, VALUE);
			a->used = mark;
		}
	}
}

// attend_back sets dq, dk [rows][QUERIES] and dv [rows][VALUES].
static void attend_back(Thread *t, Dialogues d, const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *out, float *lse,
                        const float *dout, float *dq, float *dk, float *dv) {
	Arena *a = &t->arena;
	for (int i = 0; i < d.count; i++) {
		int begin = d.begin[i], rows = d.begin[i + 1] - begin, n = round32(rows);
		for (int h = 0; h < HEADS; h++) {
			size_t mark = a->used;
			bf16 *qh = HALVES(a, n * QK), *kh = HALVES(a, n * QK), *vh = HALVES(a, n * VALUE), *oh = HALVES(a, n * VALUE);
			copy_head(q + (size_t)begin * QUERIES + h * QK, QUERIES, rows, n, QK, qh);
			copy_head(k + (size_t)begin * QUERIES + h * QK, QUERIES, rows, n, QK, kh);
			copy_head(v + (size_t)begin * VALUES + h * VALUE, VALUES, rows, n, VALUE, vh);
			memset(oh, 0, (size_t)n * VALUE * sizeof(bf16));
			float *delta = FLOATS(a, n);
			for (int r = 0; r < rows; r++) {
				const float *g = dout + (size_t)(begin + r) * VALUES + h * VALUE;
				const bf16 *o = out + (size_t)(begin + r) * VALUES + h * VALUE;
				to_bf16(g, oh + r * VALUE, VALUE);
				float sum = 0;
				for (int j = 0; j < VALUE; j++) {
					uint32_t bits = (uint32_t)o[j] << 16;
					float value;
					memcpy(&value, &bits, 4);
					sum += g[j] * value;
				}
				delta[r] = sum;
			}
			bf16 *packed = HALVES(a, n * (QK > VALUE ? QK : VALUE)), *p = HALVES(a, n * n), *turned = HALVES(a, n * n);
			float *scores = FLOATS(a, n * n), *ds = FLOATS(a, n * n), *o = FLOATS(a, n * (QK > VALUE ? QK : VALUE));
			pack_columns(kh, QK, QK, n, packed);
			multiply(n, n, QK, qh, QK, packed, scores, n, 0, 1);
			softmax_rows(rows, n, scores, lse + begin * HEADS + h, 1, p);
			transpose(p, n, n, n, turned);
			pack_rows(oh, VALUE, n, VALUE, packed);
			multiply(n, VALUE, n, turned, n, packed, o, VALUE, 0, 0);
			for (int r = 0; r < rows; r++) memcpy(dv + (size_t)(begin + r) * VALUES + h * VALUE, o + r * VALUE, VALUE * 4);
			pack_columns(vh, VALUE, VALUE, n, packed);
			multiply(n, n, VALUE, oh, VALUE, packed, ds, n, 0, 1);
			for (int r = 0; r < n; r++) {
				float *s = ds + (size_t)r * n, *w = scores + (size_t)r * n;
				int end = r < rows ? r + 1 : 0;
				for (int j = 0; j < end; j++) s[j] = w[j] * (s[j] - delta[r]) * score_scale;
				for (int j = end; j < n; j++) s[j] = 0;
			}
			to_bf16(ds, p, (size_t)n * n);
			pack_rows(kh, QK, n, QK, packed);
			multiply(n, QK, n, p, n, packed, o, QK, 0, 0);
			for (int r = 0; r < rows; r++) memcpy(dq + (size_t)(begin + r) * QUERIES + h * QK, o + r * QK, QK * 4);
			transpose(p, n, n, n, turned);
			pack_rows(qh, QK, n, QK, packed);
			multiply(n, QK, n, turned, n, packed, o, QK, 0, 0);
			for (int r = 0; r < rows; r++) memcpy(dk + (size_t)(begin + r) * QUERIES + h * QK, o + r * QK, QK * 4);
			a->used = mark;
		}
	}
}

#endif
