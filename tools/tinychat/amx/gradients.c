// Losses of tinychat and their gradients, on a CPU with AMX: what model.py's forward and PyTorch's backward do, with
// products of bfloat16 summed in float32. PyTorch evaluates every expert for every token and passes over memory for
// every operation; here a thread takes a row of tokens at a time and an expert sees its own tokens only.
//
// ../amx.py compiles this file with the model's widths as macros. All of them are multiples of 32.

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "experts.h"
#include "layout.h"

// answers_loss adds to the loss of a step and to the gradient of hidden [rows][HIDDEN], for rows whose next token an
// assistant wrote. Each counts by weight.
static void answers_loss(Thread *t, int step, int rows, const int *targets, float weight, const float *hidden, float *dhidden) {
	Arena *a = &t->arena;
	const Matrix *w = &t->model->output;
	size_t mark = a->used;
	int *row = take(a, sizeof(int) * rows), count = 0;
	for (int r = 0; r < rows; r++)
		if (targets[r] >= 0) row[count++] = r;
	int n = round32(count);
	float *x = FLOATS(a, n * HIDDEN), *logits = FLOATS(a, n * VOCABULARY);
	bf16 *xh = HALVES(a, n * HIDDEN);
	memset(x, 0, (size_t)n * HIDDEN * 4);
	for (int i = 0; i < count; i++) memcpy(x + (size_t)i * HIDDEN, hidden + (size_t)row[i] * HIDDEN, HIDDEN * 4);
	to_bf16(x, xh, (size_t)n * HIDDEN);
	linear(n, xh, HIDDEN, w, logits, VOCABULARY, 0);
	for (int i = 0; i < n; i++) {
		float *z = logits + (size_t)i * VOCABULARY, top = -INFINITY, sum = 0, share = i < count ? weight : 0;
		for (int j = 0; j < VOCABULARY; j++) top = fmaxf(top, z[j]);
		if (i < count) t->loss[step] += top - z[targets[row[i]]];
		for (int j = 0; j < VOCABULARY; j++) z[j] = expf(z[j] - top), sum += z[j];
		if (i < count) t->loss[step] += logf(sum);
		for (int j = 0; j < VOCABULARY; j++) z[j] *= share / sum;
		if (i < count) z[targets[row[i]]] -= share;
	}
	linear_back(t, n, logits, xh, HIDDEN, w, x, 0);
	for (int i = 0; i < count; i++)
		for (int j = 0; j < HIDDEN; j++) dhidden[(size_t)row[i] * HIDDEN + j] += x[(size_t)i * HIDDEN + j];
	a->used = mark;
}

// before: the hidden state of the row before, 0 where a dialogue begins; or the way back, added to dhidden.
static void shift(const int *begins, int rows, const float *hidden, float *out) {
	for (int r = 0; r < rows; r++) {
		if (begins[r]) memset(out + (size_t)r * HIDDEN, 0, HIDDEN * 4);
		else memcpy(out + (size_t)r * HIDDEN, hidden + (size_t)(r - 1) * HIDDEN, HIDDEN * 4);
	}
}

typedef struct { float *hidden, *dhidden, *end, *inv_end, *inv_e, *before, *inv_before; bf16 *joined; Saved layer; } Step;

static void run_row(Thread *t, int rows, const int *tokens, const int *segments, const int *targets, const float *step_weight) {
	const Model *m = t->model;
	Arena *a = &t->arena;
	a->used = 0;
	int *begin = take(a, sizeof(int) * (rows + 1)), *begins = take(a, sizeof(int) * rows);
	Dialogues d = {0, begin};
	for (int r = 0; r < rows; r++) {
		begins[r] = r == 0 || segments[r] != segments[r - 1];
		if (begins[r]) begin[d.count++] = r;
	}
	begin[d.count] = rows;

	size_t state = (size_t)rows * HIDDEN * 4;
	Saved saved[LAYERS];
	Step step[1 + MTP_STEPS];
	float *embedded = take(a, state), *x = embedded;
	for (int r = 0; r < rows; r++) memcpy(embedded + (size_t)r * HIDDEN, m->weights + m->embedding + (size_t)tokens[r] * HIDDEN, HIDDEN * 4);
	for (int i = 0; i < LAYERS; i++) {
		saved[i].x = x;
		attention_forward(t, &m->layer[i], rows, d, &saved[i]);
		x = take(a, state);
		ffn_forward(t, &m->layer[i], rows, &saved[i], x);
	}
	for (int i = 0; i <= MTP_STEPS; i++) {
		Step *s = &step[i];
		const Layer *l = &m->layer[LAYERS];
		if (i > 0) {
			s->before = take(a, state), s->inv_before = FLOATS(a, rows), s->inv_e = FLOATS(a, rows);
			s->joined = HALVES(a, 2 * rows * HIDDEN), s->layer.x = take(a, state), x = take(a, state);
			float *both = take(a, 2 * state);
			shift(begins, rows, step[i - 1].hidden, s->before);
			norm(m, m->enorm, rows, embedded, HIDDEN, s->inv_e, both, 2 * HIDDEN);
			norm(m, m->hnorm, rows, s->before, HIDDEN, s->inv_before, both + HIDDEN, 2 * HIDDEN);
			to_bf16(both, s->joined, (size_t)2 * rows * HIDDEN);
			linear(rows, s->joined, 2 * HIDDEN, &m->eh_proj, s->layer.x, HIDDEN, 0);
			attention_forward(t, l, rows, d, &s->layer);
			ffn_forward(t, l, rows, &s->layer, x);
		}
		s->end = x, s->inv_end = FLOATS(a, rows), s->hidden = take(a, state), s->dhidden = take(a, state);
		norm(m, i ? m->shared_head_norm : m->output_norm, rows, s->end, HIDDEN, s->inv_end, s->hidden, HIDDEN);
		memset(s->dhidden, 0, state);
		answers_loss(t, i, rows, targets, step_weight[i], s->hidden, s->dhidden);
	}

	float *de = take(a, state), *dx = take(a, state), *dboth = take(a, 2 * state), *dbefore = take(a, state);
	memset(de, 0, state);
	for (int i = MTP_STEPS; i >= 0; i--) {
		Step *s = &step[i];
		memset(dx, 0, state);
		norm_back(t, i ? m->shared_head_norm : m->output_norm, rows, s->end, HIDDEN, s->inv_end, s->dhidden, HIDDEN, dx, HIDDEN);
		if (i == 0) break;
		ffn_back(t, &m->layer[LAYERS], rows, &s->layer, dx);
		attention_back(t, &m->layer[LAYERS], rows, d, &s->layer, dx);
		linear_back(t, rows, dx, s->joined, 2 * HIDDEN, &m->eh_proj, dboth, 0);
		norm_back(t, m->enorm, rows, embedded, HIDDEN, s->inv_e, dboth, 2 * HIDDEN, de, HIDDEN);
		memset(dbefore, 0, state);
		norm_back(t, m->hnorm, rows, s->before, HIDDEN, s->inv_before, dboth + HIDDEN, 2 * HIDDEN, dbefore, HIDDEN);
		for (int r = 0; r < rows; r++)
			if (!begins[r])
				for (int j = 0; j < HIDDEN; j++) step[i - 1].dhidden[(size_t)(r - 1) * HIDDEN + j] += dbefore[(size_t)r * HIDDEN + j];
	}
	for (int i = LAYERS - 1; i >= 0; i--) {
		ffn_back(t, &m->layer[i], rows, &saved[i], dx);
		attention_back(t, &m->layer[i], rows, d, &saved[i], dx);
	}
	for (int r = 0; r < rows; r++) {
		float *g = t->gradients + m->embedding + (size_t)tokens[r] * HIDDEN;
		for (int j = 0; j < HIDDEN; j++) g[j] += dx[(size_t)r * HIDDEN + j] + de[(size_t)r * HIDDEN + j];
	}
}

// prepare returns how many weights there are, or -1 without AMX.
int prepare(void) {
	enum { REQUEST = 0x1023, TILE_DATA = 18 };  // of Linux' arch_prctl
	if (syscall(SYS_arch_prctl, REQUEST, TILE_DATA) != 0) return -1;
	if (weight_count == 0) lay_out();
	return weight_count;
}

// A row needs some 130 kB a token, most of it for the backward pass.
enum { BYTES_PER_TOKEN = 260 << 10 };

// gradients sets those of the mean losses, weighted by share, and the losses. Tokens, segments and targets are
// [batch][rows], targets -1 where no loss is; cos and sin [rows][ROPE/2]; bias and load [LAYERS+1][EXPERTS].
void gradients(const float *weights, float *out, int threads, int batch, int rows, const int *tokens, const int *segments,
               const int *targets, const float *share, const float *cos, const float *sin, const float *bias, float *load, float *losses) {
	static float *other[64];
	static Arena arenas[64];
	long count = 0;
	for (long i = 0; i < (long)batch * rows; i++) count += targets[i] >= 0;
	float weight[1 + MTP_STEPS];
	for (int i = 0; i <= MTP_STEPS; i++) weight[i] = share[i] / count, losses[i] = 0;
	model.weights = weights;
	for (int i = 0; i <= LAYERS; i++) model.layer[i].bias = bias + i * EXPERTS, model.layer[i].load = load + i * EXPERTS;
	#pragma omp parallel num_threads(threads)
	{
		int me = omp_get_thread_num();
		if (me > 0 && !other[me]) other[me] = aligned_alloc(64, ((size_t)weight_count * 4 + 63) & ~(size_t)63);
		if (arenas[me].size < (size_t)BYTES_PER_TOKEN * rows) {
			free(arenas[me].base);
			arenas[me].size = (size_t)BYTES_PER_TOKEN * rows;
			arenas[me].base = aligned_alloc(64, arenas[me].size);
		}
		Thread t = {&model, me ? other[me] : out, arenas[me], cos, sin, {0}};
		memset(t.gradients, 0, (size_t)weight_count * 4);
		configure_tiles();
		#pragma omp for schedule(dynamic)
		for (int i = 0; i < matrix_count; i++) pack(weights, matrices[i]);
		#pragma omp for schedule(dynamic)
		for (int i = 0; i < batch; i++)
			run_row(&t, rows, tokens + (size_t)i * rows, segments + (size_t)i * rows, targets + (size_t)i * rows, weight);
		#pragma omp critical
		for (int i = 0; i <= MTP_STEPS; i++) losses[i] += t.loss[i] / count;
		#pragma omp for
		for (int i = 0; i < weight_count; i++)
			for (int k = 1; k < omp_get_num_threads(); k++) out[i] += other[k][i];
		_tile_release();
	}
}
