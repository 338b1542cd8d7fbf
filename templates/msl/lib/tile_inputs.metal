// The rows of a tile's inputs: consecutive rows, or the rows of a list of selections, K per row. The rest of
// a tile repeats the last row. EVEN: the tile is full, and its rows are consecutive.
template <bool WHOLE>
struct rows_between {
  enum : bool { EVEN = WHOLE };
  enum : uint { K = 1 };
  uint first, last;
  static inline uint row_of(rows_between r, uint t) { return EVEN ? r.first + t : min(r.first + t, r.last); }
};

template <uint PER_ROW>
struct rows_selected {
  enum : bool { EVEN = false };
  enum : uint { K = PER_ROW };
  threadgroup const uint * list;
  static inline uint row_of(rows_selected r, uint t) { return r.list[t]; }
};

// The inputs of a tile: rows are STRIDE elements apart, and the selections of a row NTH elements.
template <typename X, uint STRIDE, uint NTH, typename WHICH>
struct tile_inputs {
  typedef X element;
  typedef WHICH which_t;
  enum : bool { EVEN = WHICH::EVEN };
  enum : uint { ROW_STRIDE = STRIDE };
  device const X * base;
  WHICH rows;
  static inline uint offset_of(tile_inputs x, uint t) {
    const uint s = WHICH::row_of(x.rows, t);
    return s / WHICH::K * STRIDE + s % WHICH::K * NTH;
  }
  static inline device const X * input_at(tile_inputs x, uint t) { return x.base + offset_of(x, t); }
};

// Eight inputs in registers, and the halves that are multiplied: TERMS halves per input.
template <typename X> struct eight_inputs;
template <> struct eight_inputs<half> {
  enum : uint { TERMS = 1 };
  uint4 v;
  static inline void none(thread eight_inputs & e) { e.v = uint4(0u); }
  static inline void load(thread eight_inputs & e, device const half * p) { e.v = *(device const uint4 *)p; }
  static inline void load_four(thread eight_inputs & e, device const half * p) {
    e.v = uint4(0u);
    e.v.xy = *(device const uint2 *)p;
  }
  template <uint TERM>
  static inline uint4 halves(thread const eight_inputs & e) { return e.v; }
};
template <> struct eight_inputs<float> {
  enum : uint { TERMS = 2 };
  float4 v[2];
  static inline void none(thread eight_inputs & e) { e.v[0] = e.v[1] = float4(0.0f); }
  static inline void load(thread eight_inputs & e, device const float * p) {
    e.v[0] = *(device const float4 *)p;
    e.v[1] = *(device const float4 *)(p + 4);
  }
  static inline void load_four(thread eight_inputs & e, device const float * p) {
    e.v[0] = *(device const float4 *)p;
    e.v[1] = float4(0.0f);
  }
  static inline half4 term(float4 v, uint t) {
    const half4 high = rounded(v * 0.015625f);
    return t == 0u ? high : rounded((v - in_full(high) * 64.0f) * 64.0f);
  }
  template <uint TERM>
  static inline uint4 halves(thread const eight_inputs & e) {
    uint4 both;
    both.xy = as_type<uint2>(term(e.v[0], TERM));
    both.zw = as_type<uint2>(term(e.v[1], TERM));
    return both;
  }
};

// Results for eight inputs, in threadgroup memory for the lanes that finish them: [8][8 R + 4].
template <uint R> struct result_block { enum : uint { ROW = 8u * R + 4u, FLOATS = 8u * ROW }; };

template <uint R, uint N>
static inline void put_results(thread const simdgroup_float8x8 * d, threadgroup float * block) {
  UNROLL for (uint r = 0; r < R; ++r) simdgroup_store(d[r * N], block + 8u * r, result_block<R>::ROW, 0, true);
}

// The results of rows r and r + 1 for input t of eight, summed over the SLICES simdgroups that share the
// rows. `blocks` is the block of the first simdgroup; the blocks are APART floats apart.
template <uint R, uint SLICES, uint APART>
static inline float2 take_results(threadgroup const float * blocks, uint t, uint r) {
  threadgroup const float * mine = blocks + t * result_block<R>::ROW + r;
  float2 sum = *(threadgroup const float2 *)mine;
  UNROLL for (uint s = 1; s < SLICES; ++s) sum += *(threadgroup const float2 *)(mine + s * APART);
  return sum;
}

// Loads and stores of two neighbours in memory.
static inline float2 load_pair(device const float * p) { return *(device const float2 *)p; }
static inline float2 load_pair(device const half * p) { return two_floats(float(p[0]), float(p[1])); }
static inline void store_pair(device float * p, float2 v) { *(device float2 *)p = v; }
static inline void store_pair(device half * p, float2 v) { *(device half2 *)p = two_halves(half(v.x), half(v.y)); }

// silu with the precision of activations: halves use the fast functions, whose relative error of some 2^-20
// is far below a half's 2^-11.
template <typename X> struct silu_for { static inline float of(float v) { return silu(v); } };
template <> struct silu_for<half> {
  static inline float of(float v) {
    const float root = fast::rsqrt(1.0f + fast::exp(-v));
    return v * root * root;
  }
};

// Loads the cosine and sine with which RoPE of DIM columns rotates a pair at a position. Nothing is loaded
// for results that are not rotated.
template <uint DIM>
static inline float2 angle_of(device const float * pair, uint position, bool turns) {
  float2 angle = float2(0.0f);
  if (turns) angle = *(device const float2 *)(pair + ulong(position) * DIM);
  return angle;
}

// The largest power of two that is at most N and at most MOST.
template <uint N, uint MOST> struct power_of_two { enum : uint { VALUE = N < 2u || MOST < 2u ? 1u : 2u * power_of_two<N / 2u, MOST / 2u>::VALUE }; };
template <uint MOST> struct power_of_two<0, MOST> { enum : uint { VALUE = 1u }; };
template <uint MOST> struct power_of_two<1, MOST> { enum : uint { VALUE = 1u }; };

// Makes the factors of the norms of a tile's inputs, from COUNT partial sums of squares each. Loads for
// TOGETHER inputs are in flight at once, and each of these factors is computed by its own lane.
template <uint COUNT, uint STRIDE, uint TOKENS, uint SIMDGROUPS, typename WHICH>
static inline void norm_factors(device const float * squares, WHICH rows, float n, float eps, threadgroup float * factors, ushort sg, ushort lane) {
  enum : uint { EACH = (COUNT + 31u) / 32u, TURNS = (TOKENS + SIMDGROUPS - 1u) / SIMDGROUPS };
  enum : uint { TOGETHER = power_of_two<TURNS, (EACH < 32u ? 32u / EACH : 1u)>::VALUE };
  for (uint t = 0u; t < TURNS; t += TOGETHER) {
    float partials[EACH * TOGETHER], sums[TOGETHER];
    UNROLL for (uint i = 0; i < TOGETHER; ++i) {
      const uint input = min((t + i) * SIMDGROUPS + sg, TOKENS - 1u);
      load_partials<COUNT, 32u>(squares + ulong(WHICH::row_of(rows, input) / WHICH::K) * STRIDE, lane, partials + i * EACH);
    }
    UNROLL for (uint i = 0; i < TOGETHER; ++i) sums[i] = sum_of<EACH>(partials + i * EACH);
    lane_sums<32, TOGETHER>::add(sums, lane);
    const uint input = (t + lane_sums<32, TOGETHER>::which(lane)) * SIMDGROUPS + sg;
    if (lane % lane_sums<32, TOGETHER>::EACH == 0u && input < TOKENS) factors[input] = norm_factor(sums[0], n, eps);
  }
}
