// Where tensors are in the flat weights, and what is packed of them.

#ifndef TINYCHAT_LAYOUT_H
#define TINYCHAT_LAYOUT_H

#include "model.h"

// pack makes both forms of a matrix.
static void pack(const float *weights, Matrix *w) {
	size_t size = (size_t)w->n * w->k;
	bf16 *rows = aligned_alloc(64, 2 * size);
	if (!w->forward) w->forward = aligned_alloc(64, 2 * size), w->backward = aligned_alloc(64, 2 * size);
	to_bf16(weights + w->at, rows, size);
	pack_columns(rows, w->k, w->k, w->n, w->forward);
	pack_rows(rows, w->k, w->n, w->k, w->backward);
	free(rows);
}

static Model model;
static Matrix *matrices[(LAYERS + 1) * (6 + 3 * ALL) + 2];
static int matrix_count, weight_count;

static Vector next_vector(int *at, int width) {
	Vector v = {width, *at};
	*at += width;
	return v;
}

static void next_matrix(int *at, Matrix *w, int n, int k) {
	*w = (Matrix){.n = n, .k = k, .at = *at};
	*at += n * k;
	matrices[matrix_count++] = w;
}

// lay_out says where tensors are in the flat weights, in the order of amx.py.
static void lay_out(void) {
	int at = 0;
	for (int i = 0; i <= LAYERS; i++) {
		Layer *l = &model.layer[i];
		l->dense = i < DENSE_LAYERS;
		l->attn_norm = next_vector(&at, HIDDEN);
		next_matrix(&at, &l->q_a, Q_LORA, HIDDEN);
		l->q_a_norm = next_vector(&at, Q_LORA);
		next_matrix(&at, &l->q_b, QUERIES, Q_LORA);
		next_matrix(&at, &l->kv_a, LATENT + ROPE, HIDDEN);
		l->kv_a_norm = next_vector(&at, LATENT);
		next_matrix(&at, &l->k_b, HEADS * NOPE, LATENT);
		next_matrix(&at, &l->v_b, VALUES, LATENT);
		next_matrix(&at, &l->out, HIDDEN, VALUES);
		l->ffn_norm = next_vector(&at, HIDDEN);
		if (!l->dense) l->router = at, at += EXPERTS * HIDDEN;
		int inner = l->dense ? DENSE_INNER : EXPERT_INNER;
		for (int e = l->dense ? EXPERTS : 0; e < EXPERTS; e++) next_matrix(&at, &l->gate[e], inner, HIDDEN);
		for (int e = l->dense ? EXPERTS : 0; e < EXPERTS; e++) next_matrix(&at, &l->up[e], inner, HIDDEN);
		for (int e = l->dense ? EXPERTS : 0; e < EXPERTS; e++) next_matrix(&at, &l->down[e], HIDDEN, inner);
		next_matrix(&at, &l->gate[EXPERTS], inner, HIDDEN);
		next_matrix(&at, &l->up[EXPERTS], inner, HIDDEN);
		next_matrix(&at, &l->down[EXPERTS], HIDDEN, inner);
	}
	model.embedding = at, at += VOCABULARY * HIDDEN;
	model.output_norm = next_vector(&at, HIDDEN);
	next_matrix(&at, &model.output, VOCABULARY, HIDDEN);
	next_matrix(&at, &model.eh_proj, HIDDEN, 2 * HIDDEN);
	model.enorm = next_vector(&at, HIDDEN);
	model.hnorm = next_vector(&at, HIDDEN);
	model.shared_head_norm = next_vector(&at, HIDDEN);
	weight_count = at;
}


#endif
