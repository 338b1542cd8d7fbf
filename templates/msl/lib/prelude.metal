#include <metal_stdlib>
#include <metal_simdgroup_matrix>

// The type of activations: float, or half in bundles that define it so.
#ifndef MLA_ACT
#define MLA_ACT float
#endif

// A product and a sum are fused only where the source says fma. MTLMathModeSafe and -fno-fast-math still
// allow a compiler to contract them within a statement (Metal Shading Language Specification, 1.6.3). The
// pragma forbids it however the source is compiled. From version 3.2 on the language has a name of its own
// for it.
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif

// Loops over arrays that must stay in registers are unrolled completely.
#ifndef UNROLL
#define UNROLL _Pragma("clang loop unroll(full)")
#endif

// Macros with which consecutive dispatches overlap, on devices that define them. PREFETCH_L2 and PREFETCH_L1
// load rows of weights into a cache. GRID_WAIT waits until the previous dispatches have ended and their
// results are visible. LAUNCH_DEPENDENTS lets the next dispatch start, up to its GRID_WAIT. Without them
// every dispatch starts after the one before.
#ifndef PREFETCH_L2
#define PREFETCH_L2(rows, bytes)
#define PREFETCH_L1(rows, bytes)
#define GRID_WAIT
#define LAUNCH_DEPENDENTS
#endif

// Everything but the kernels is in a namespace. Names of namespace metal are visible in it, and a name of
// this file hides one of metal's instead of clashing with it.
namespace mla {
using namespace metal;

typedef MLA_ACT act_t; // element of the activation buffers

// An asynchronous copy of 16 bytes from device to threadgroup memory: the first 16, 8 or 0 bytes, and zeros for the
// rest. begin_copy starts it, end_copy completes it; the code between does not wait for it. COPIES_GROUP commits the
// copies that a thread has started, as a group. COPIES_LAND waits for all groups, COPIES_LAND_BUT(n) for all but the
// last n. Other threads see the bytes after a barrier. NEAR: other threadgroups on the same multiprocessor copy the
// same bytes. A device that copies without registers defines these itself.
#ifndef COPIES_LAND
#define COPIES_LAND
#define COPIES_GROUP
#define COPIES_LAND_BUT(n)
struct sixteen_bytes {
  uint4 v;
  template <bool NEAR = false>
  static inline void begin_copy(thread sixteen_bytes & b, threadgroup uint4 *, device const uint4 * from, uint bytes) {
    b.v = uint4(0u);
    if (bytes == 16u) b.v = *from;
    else if (bytes == 8u) b.v.xy = *(device const uint2 *)from;
  }
  static inline void end_copy(thread const sixteen_bytes & b, threadgroup uint4 * to) { *to = b.v; }
};

// The same for a word or a vector. A device without such copies loads and stores at once.
template <typename WORDS>
struct whole_copy {
  static inline void begin_whole(threadgroup WORDS * to, device const WORDS * from) { *to = *from; }
};
#endif

// One token of a session: the token, its position, the number of cache rows it attends to, its block table.
struct Row { uint token; uint pos; uint nkv; uint table; };

enum : uint { PAGE_ROWS = 64 }; // cache rows of a page

// Loads a row's four numbers at once, in their order.
static inline uint4 whole(constant Row & row) { return *(constant const uint4 *)&row; }

// One selected expert of a token and its weight.
struct Routing { uint expert; float weight; };

// silu(v) = v / (1 + e^-v)
static inline float silu(float v) { return v / (1.0f + exp(-v)); }

static inline float sigmoid(float v) { return 1.0f / (1.0f + exp(-v)); }

// Returns element `lane` of an array that every lane holds.
template <ushort N>
static inline float own(thread const float * v, ushort lane) {
  float mine = v[0];
  UNROLL for (ushort r = 1; r < N; ++r) mine = lane == r ? v[r] : mine;
  return mine;
}

// Sums each of N elements over the simdgroup; every lane gets all sums.
template <ushort N>
static inline void sum_lanes(thread float * v) {
  UNROLL for (ushort r = 0; r < N; ++r) v[r] = simd_sum(v[r]);
}

// Sums v over every GROUP neighbouring lanes, a power of two.
template <ushort GROUP>
static inline float sum_group(float v) {
  UNROLL for (ushort d = 1; d < GROUP; d *= 2) v += simd_shuffle_xor(v, d);
  return v;
}

// Lanes that are D apart add up 2 N values, of which each lane keeps N sums.
template <uint N, uint D>
static inline void add_halves(thread float * v, ushort lane) {
  const bool upper = (lane & D) != 0u;
  UNROLL for (uint i = 0; i < N; ++i) {
    const float low = v[i], high = v[i + N]; // values, not places, are selected: places would need addresses
    v[i] = (upper ? high : low) + simd_shuffle_xor(upper ? low : high, ushort(D));
  }
}

// Sums each of COUNT values over every LANES neighbouring lanes, both powers of two up to 32. If there are at
// least as many lanes as values, each lane gets one sum, v[0], that of value `which`. This takes a shuffle
// for every value instead of one for every value and power of two. The order of additions is that of
// simd_sum.
template <ushort LANES, uint COUNT>
struct lane_sums {
  enum : bool { SHARED = COUNT <= LANES };
  enum : uint { EACH = SHARED ? LANES / COUNT : 1 }; // lanes that have the same sum
  static inline uint which(ushort lane) { return lane % LANES / EACH; }
  static inline void add(thread float * v, ushort lane) {
    if (!SHARED) {
      UNROLL for (uint i = 0; i < COUNT; ++i) v[i] = sum_group<LANES>(v[i]);
      return;
    }
    add_halves<COUNT / 2u, LANES / 2u>(v, lane);
    add_halves<COUNT / 4u, LANES / 4u>(v, lane);
    add_halves<COUNT / 8u, LANES / 8u>(v, lane);
    add_halves<COUNT / 16u, LANES / 16u>(v, lane);
    add_halves<COUNT / 32u, LANES / 32u>(v, lane);
    UNROLL for (ushort d = EACH / 2; d > 0; d /= 2) v[0] += simd_shuffle_xor(v[0], d);
  }
};

// Sums each of N elements over the simdgroup, and returns the sum of element `which`, which may differ from
// lane to lane.
template <ushort N>
static inline float sum_one(thread float * v, uint which, ushort lane) {
  if (N == 1 || N > 32 || (N & (N - 1)) != 0) {
    sum_lanes<N>(v);
    return own<N>(v, ushort(which));
  }
  lane_sums<32, N>::add(v, lane);
  return simd_shuffle(v[0], ushort(which * (32 / N)));
}

// Copies in[0..n) times a norm's weight to xs and returns the thread's share of Σ in². The norm's factor is
// left out: the results of the mat-vec are multiplied by it.
template <uint THREADS, typename X>
static inline float stage_norm(X in, device const float * weight, uint n, threadgroup float * xs, uint tid) {
  float squares = 0.0f;
  for (uint i = tid; i < n; i += THREADS) {
    const float v = float(in[i]);
    squares = fma(v, v, squares);
    xs[i] = v * weight[i];
  }
  return squares;
}

// Stores a simdgroup's share of a sum; total adds all shares after a barrier.
static inline void share(float v, threadgroup float * shares, ushort sg, ushort lane) {
  v = simd_sum(v);
  if (lane == 0) shares[sg] = v;
}

template <uint SIMDGROUPS>
static inline float total(threadgroup const float * shares) {
  float sum = 0.0f;
  for (uint i = 0; i < SIMDGROUPS; ++i) sum += shares[i];
  return sum;
}

// Stores the sums of one of SLICES simdgroups that share rows. add_slices adds them after a barrier, in the
// same order in each simdgroup. Lanes beyond the last row repeat its sum, because a condition would keep the
// compiler from scheduling these loads with others.
template <ushort N>
static inline void put_slice(float v, threadgroup float * slices, ushort sg, ushort lane) {
  if (lane < N) slices[sg * N + lane] = v;
}

template <ushort N, ushort SLICES>
static inline float add_slices(threadgroup const float * slices, ushort sg, ushort lane) {
  threadgroup const float * row = slices + sg / SLICES * SLICES * N + min(lane, ushort(N - 1));
  float sum = 0.0f;
  UNROLL for (ushort i = 0; i < SLICES; ++i) sum += row[i * N];
  return sum;
}

// 1 / sqrt(mean + eps), the factor of an RMS norm over n elements.
static inline float norm_factor(float squares, float n, float eps) { return 1.0f / sqrt(squares / n + eps); }

// Rotates the pair (v, neighbour's v) by an angle. Even lanes hold the first element of a pair, odd lanes the
// second.
static inline float turn_by(float v, float neighbour, float cosine, float sine, bool second) {
  return second ? fma(v, cosine, neighbour * sine) : fma(v, cosine, -(neighbour * sine));
}

// turn_by with the cosine and sine at cs.
static inline float turn(float v, float neighbour, device const float * cs, bool second) {
  return turn_by(v, neighbour, cs[0], cs[1], second);
}

// The number of cache rows of one attention split; see plan.Splits.
template <uint COUNT, uint TILE, uint LEAST>
static inline uint split_rows(uint nkv) {
  uint least = LEAST;
  while (4u * least * least < nkv) least *= 2u;
  return max(least, (nkv + COUNT * TILE - 1u) / (COUNT * TILE) * TILE);
}
