// Latent attention: what a layer does up to its network, and the way back.

#ifndef TINYCHAT_LATENT_H
#define TINYCHAT_LATENT_H

#include "attention.h"

// What a layer's backward pass needs of its forward pass. Rows of gate and up of expert e begin at first[e].
typedef struct {
	float *x, *inv_attn, *q_a, *inv_q, *kv, *inv_kv, *lse, *x1, *inv_ffn, *h2f, *gate, *up, *scores, *share;
	bf16 *h1, *latent_q, *q, *latent, *k, *v, *o, *h2;
	int count[ALL], first[ALL + 1];
	int *token;  // [first[ALL]] row of the batch, of each row of an expert
} Saved;

static void attention_forward(Thread *t, const Layer *l, int rows, Dialogues d, Saved *s) {
	const Model *m = t->model;
	Arena *a = &t->arena;
	s->inv_attn = FLOATS(a, rows), s->inv_q = FLOATS(a, rows), s->inv_kv = FLOATS(a, rows), s->lse = FLOATS(a, rows * HEADS);
	s->h1 = HALVES(a, rows * HIDDEN), s->latent_q = HALVES(a, rows * Q_LORA), s->latent = HALVES(a, rows * LATENT);
	s->q_a = FLOATS(a, rows * Q_LORA), s->kv = FLOATS(a, rows * (LATENT + ROPE));
	s->q = HALVES(a, rows * QUERIES), s->k = HALVES(a, rows * QUERIES), s->v = HALVES(a, rows * VALUES), s->o = HALVES(a, rows * VALUES);
	s->x1 = FLOATS(a, rows * HIDDEN);
	size_t mark = a->used;
	float *tmp = FLOATS(a, rows * (HIDDEN > QUERIES ? HIDDEN : QUERIES)), *keys = FLOATS(a, rows * HEADS * NOPE);
	norm(m, l->attn_norm, rows, s->x, HIDDEN, s->inv_attn, tmp, HIDDEN);
	to_bf16(tmp, s->h1, (size_t)rows * HIDDEN);
	linear(rows, s->h1, HIDDEN, &l->q_a, s->q_a, Q_LORA, 0);
	norm(m, l->q_a_norm, rows, s->q_a, Q_LORA, s->inv_q, tmp, Q_LORA);
	to_bf16(tmp, s->latent_q, (size_t)rows * Q_LORA);
	linear(rows, s->latent_q, Q_LORA, &l->q_b, tmp, QUERIES, 0);
	for (int r = 0; r < rows; r++)
		for (int h = 0; h < HEADS; h++) rotate(t, r, tmp + (size_t)r * QUERIES + h * QK + NOPE, 1);
	to_bf16(tmp, s->q, (size_t)rows * QUERIES);

	linear(rows, s->h1, HIDDEN, &l->kv_a, s->kv, LATENT + ROPE, 0);
	norm(m, l->kv_a_norm, rows, s->kv, LATENT + ROPE, s->inv_kv, tmp, LATENT);
	to_bf16(tmp, s->latent, (size_t)rows * LATENT);
	linear(rows, s->latent, LATENT, &l->k_b, keys, HEADS * NOPE, 0);
	for (int r = 0; r < rows; r++) {
		float turned[ROPE];
		memcpy(turned, s->kv + (size_t)r * (LATENT + ROPE) + LATENT, sizeof turned);
		rotate(t, r, turned, 1);
		for (int h = 0; h < HEADS; h++) {
			memcpy(tmp + (size_t)r * QUERIES + h * QK, keys + ((size_t)r * HEADS + h) * NOPE, NOPE * 4);
			memcpy(tmp + (size_t)r * QUERIES + h * QK + NOPE, turned, sizeof turned);
		}
	}
	to_bf16(tmp, s->k, (size_t)rows * QUERIES);
	linear(rows, s->latent, LATENT, &l->v_b, tmp, VALUES, 0);
	to_bf16(tmp, s->v, (size_t)rows * VALUES);
	attend(t, d, s->q, s->k, s->v, s->o, s->lse);
	memcpy(s->x1, s->x, (size_t)rows * HIDDEN * 4);
	linear(rows, s->o, VALUES, &l->out, s->x1, HIDDEN, 1);
	a->used = mark;
}

// attention_back takes the gradient of x1 in dx and adds to it what goes through attention: that of x.
static void attention_back(Thread *t, const Layer *l, int rows, Dialogues d, const Saved *s, float *dx) {
	Arena *a = &t->arena;
	size_t mark = a->used;
	float *dout = FLOATS(a, rows * VALUES), *dq = FLOATS(a, rows * QUERIES), *dk = FLOATS(a, rows * QUERIES);
	float *dv = FLOATS(a, rows * VALUES), *dh = FLOATS(a, rows * HIDDEN), *dkv = FLOATS(a, rows * (LATENT + ROPE));
	float *dkeys = FLOATS(a, rows * HEADS * NOPE), *dl = FLOATS(a, rows * (LATENT > Q_LORA ? LATENT : Q_LORA));
	float *dqa = FLOATS(a, rows * Q_LORA);
	linear_back(t, rows, dx, s->o, VALUES, &l->out, dout, 0);
	attend_back(t, d, s->q, s->k, s->v, s->o, s->lse, dout, dq, dk, dv);

	memset(dkv, 0, (size_t)rows * (LATENT + ROPE) * 4);
	for (int r = 0; r < rows; r++) {
		float *turned = dkv + (size_t)r * (LATENT + ROPE) + LATENT;
		for (int h = 0; h < HEADS; h++) {
			const float *g = dk + (size_t)r * QUERIES + h * QK;
			memcpy(dkeys + ((size_t)r * HEADS + h) * NOPE, g, NOPE * 4);
			for (int i = 0; i < ROPE; i++) turned[i] += g[NOPE + i];
			rotate(t, r, dq + (size_t)r * QUERIES + h * QK + NOPE, -1);
		}
		rotate(t, r, turned, -1);
	}
	linear_back(t, rows, dv, s->latent, LATENT, &l->v_b, dl, 0);
	linear_back(t, rows, dkeys, s->latent, LATENT, &l->k_b, dl, 1);
	norm_back(t, l->kv_a_norm, rows, s->kv, LATENT + ROPE, s->inv_kv, dl, LATENT, dkv, LATENT + ROPE);
	linear_back(t, rows, dkv, s->h1, HIDDEN, &l->kv_a, dh, 0);
	linear_back(t, rows, dq, s->latent_q, Q_LORA, &l->q_b, dl, 0);
	memset(dqa, 0, (size_t)rows * Q_LORA * 4);
	norm_back(t, l->q_a_norm, rows, s->q_a, Q_LORA, s->inv_q, dl, Q_LORA, dqa, Q_LORA);
	linear_back(t, rows, dqa, s->h1, HIDDEN, &l->q_a, dh, 1);
	norm_back(t, l->attn_norm, rows, s->x, HIDDEN, s->inv_attn, dh, HIDDEN, dx, HIDDEN);
	a->used = mark;
}


#endif
