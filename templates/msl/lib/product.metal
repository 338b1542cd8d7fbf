// The product of a matrix of weights and the inputs of many rows, for matmul.msl, experts_matmul.msl and
// experts_batch.msl.
//
// A simdgroup multiplies in 8 × 8 blocks. It makes 8 R rows of results for all inputs of a tile. It goes over
// the columns in steps of 128. In each step lane l decodes 32 columns of rows l / 4 + 8 r, from a block's
// bytes directly to the left operand. The inputs are in threadgroup memory.
//
// Inputs of halves are multiplied as they are. An input of floats is split into two halves, x = 64 h + l /
// 64, and weights are split, too. Three products of halves then keep 21 bits, and inputs of up to 2^20 stay
// in range.
enum : uint { STEP = 128u };      // columns of a step
enum : uint { INPUT_ROW = 144u }; // halves from one input's step to the next one's: lanes that load together use all banks
enum : uint { HALF_ROW = 72u };   // the same for half a step
enum : uint { STAGED_ROW = 36u }; // halves of a row of 32 staged weights

// The place of a column of a step in the row of an input. In the second half of a step, neighbouring eights
// of columns are swapped, so that lanes that load at the same time use different banks. A pair of eights
// stays within 32 bytes, because a GPU that copies sectors of 32 bytes takes twice as long if a pair is
// split.
static inline uint column_place(uint c) { return c ^ (c / 64u * 8u); }

// Layouts of a tile of inputs: ROW is the halves of a row; place(p, j) is where the row has eight j = 0 to 3
// of lane p of four. T::column says which columns an eight has. A tile has a whole step, or in half_step
// eights 0 and 1, or 2 and 3, of all lanes. The latter tile depends on the columns of the format.
struct whole_step {
  template <typename T>
  struct places {
    enum : uint { ROW = INPUT_ROW };
    static inline uint place(uint p, uint j) { return column_place(T::column(p, j)); }
  };
};
struct half_step {
  template <typename T>
  struct places {
    enum : uint { ROW = HALF_ROW };
    static inline uint place(uint p, uint j) { return 16u * p + 8u * (j % 2u); }
  };
};

// d[R][N] += W X for 32 columns: eight j of each of four lanes. w[2 r + u] is the lane's part of row l / 4 +
// 8 r: columns 4 u to 4 u + 3 of its eight. x is the tile, [8 N] rows of PLACES::ROW halves. The weights pass
// through threadgroup memory, 16 rows at a time. A platform that specifies which lane holds which element of
// a block defines its own function.
#ifndef MULTIPLY_EIGHTS
#define MULTIPLY_EIGHTS
template <typename PLACES, uint R, uint N>
static inline void multiply_eights(thread simdgroup_float8x8 * d, thread const half4 * w, threadgroup const half * x, uint j, threadgroup half * staged, ushort lane) {
  UNROLL for (uint r = 0; r < R; r += 2u) {
    UNROLL for (uint i = 0; i < 4u; ++i) *(threadgroup half4 *)(staged + (lane / 4u + i / 2u * 8u) * STAGED_ROW + lane % 4u * 8u + i % 2u * 4u) = w[2u * r + i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 a[8];
    UNROLL for (uint i = 0; i < 8u; ++i) simdgroup_load(a[i], staged + i / 4u * 8u * STAGED_ROW + i % 4u * 8u, STAGED_ROW);
    UNROLL for (uint n = 0; n < N; ++n) {
      simdgroup_half8x8 b[4];
      UNROLL for (uint p = 0; p < 4u; ++p) simdgroup_load(b[p], x + 8u * n * PLACES::ROW + PLACES::place(p, j), PLACES::ROW, 0, true);
      UNROLL for (uint i = 0; i < 8u; ++i) simdgroup_multiply_accumulate(d[(r + i / 4u) * N + n], a[i], b[i % 4u], d[(r + i / 4u) * N + n]);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
#endif

// The half that a left operand takes of a weight v: v itself, its rounding error; and for inputs in two
// halves 64 v, the rounding error of 64 v, and v / 64.
struct piece { enum : uint { WHOLE, REST, GROWN, GROWN_REST, SHRUNK }; };

static inline half4 rest_of(float4 v) { return rounded(v - in_full(rounded(v))); }

template <typename T, uint PIECE>
static inline half4 piece_of(thread const typename T::run & r, uint j, uint u) {
  if (PIECE == uint(piece::WHOLE)) return weights_of<T>::halves(r, j, u);
  const float4 v = weights_of<T>::floats(r, j, u);
  if (PIECE == uint(piece::REST)) return rest_of(v);
  if (PIECE == uint(piece::GROWN)) return rounded(v * 64.0f);
  if (PIECE == uint(piece::GROWN_REST)) return rest_of(v * 64.0f);
  return rounded(v * 0.015625f);
}
