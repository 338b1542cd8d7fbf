// Losses of tinychat and their gradients, on a CPU with AMX: what model.py's forward and PyTorch's backward do, with
// products of bfloat16 summed in float32. PyTorch evaluates every expert for every token and passes over memory for
// every operation; here a thread takes a row of tokens at a time and an expert sees its own tokens only.
//
// ../amx.py compiles this file with the model's widths as macros. All of them are multiples of 32.

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint16_t bf16;

enum {
	QK = NOPE + ROPE,   // width of a head's queries and keys
	QUERIES = HEADS * QK,
	VALUES = HEADS * VALUE,
	ALL = EXPERTS + 1,  // the shared expert is the last
	PASSES = LAYERS + MTP_STEPS,  // layers as run: the MTP layer runs once for each step
};

// ---- Memory of a thread: freed at once when its row is done ----

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

// ---- Products on tiles ----

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

// ---- Weights ----

// A Matrix [n][k] of a layer y = x Wᵀ: packed for y, and for the gradient of x.
typedef struct { int n, k, at; bf16 *forward, *backward; } Matrix;  // at: in the flat weights and gradients
typedef struct { int width, at; } Vector;

typedef struct {
	Vector attn_norm, q_a_norm, kv_a_norm, ffn_norm;
	Matrix q_a, q_b, kv_a, k_b, v_b, out;  // k_b is stored [heads][latent][nope]: the forms change places for each head
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

// ---- Norms and RoPE ----

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

// ---- Attention within the dialogues of a row ----

// Where dialogues begin, and behind the last one the end of the row.
typedef struct { int count; const int *begin; } Dialogues;

static void copy_head(const bf16 *x, int ldx, int rows, int padded, int width, bf16 *out) {
	for (int r = 0; r < rows; r++) memcpy(out + r * width, x + (size_t)r * ldx, width * sizeof(bf16));
	memset(out + rows * width, 0, (size_t)(padded - rows) * width * sizeof(bf16));
}

static const float score_scale = SCORE_SCALE;

// weights_of makes scores, then with lse their softmax: [padded][padded], 0 above the diagonal.
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

// ---- A layer ----

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

// ---- A row of tokens ----

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

// ---- The whole batch ----

static Matrix matrix(int n, int k, int at) { return (Matrix){.n = n, .k = k, .at = at}; }

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
	*w = matrix(n, k, *at);
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
