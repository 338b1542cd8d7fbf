// Sampling with bit-for-bit the results of runtime/text/sample. Every statement on floats is one IEEE
// operation, which the pragma in prelude.metal keeps from being contracted. Everything else is integers,
// whose sums do not depend on the order.

// The sampler's parameters and state; see plan.Sampling.
struct Sampling {
  ulong seed; ulong draw; ulong top_p;
  uint top_k; float inv_temperature; float log_min_p;
  float repeat_penalty; float inv_repeat_penalty; float presence_penalty; float frequency_penalty;
  uint picked;
};

// A pick: after which row a token is picked, and how; see plan.Pick.
struct Pick {
  Sampling sampling;
  uint row; uint place; uint first; uint entries; uint mask; uint unused;
};

// A change of a token's logit; see plan.Adjust.
struct Adjust { uint token; uint count; float add; };

// A 64-bit number in memory that is aligned to 4 bytes.
struct Wide { uint low; uint high; };

static inline ulong load_wide(threadgroup const Wide * w) { return ulong(w->high) << 32 | ulong(w->low); }
static inline void store_wide(threadgroup Wide * w, ulong v) {
  w->low = uint(v);
  w->high = uint(v >> 32);
}

// A logit as it is compared: NaN becomes minus infinity, infinity the largest float, and magnitudes below
// 2^-100 zero, so that results do not depend on the GPU's denormals.
static inline float settle(float x) {
  const uint bits = as_type<uint>(x);
  const uint magnitude = bits & 0x7fffffffu;
  const float finite = bits == 0x7f800000u ? as_type<float>(0x7f7fffffu) : (magnitude < 0x0d800000u ? 0.0f : x);
  return magnitude > 0x7f800000u ? as_type<float>(0xff800000u) : finite;
}

// An integer that grows with x; minus infinity has 0x007fffff.
static inline uint rank_of(float x) {
  const uint bits = as_type<uint>(x);
  return bits >> 31 != 0u ? ~bits : bits | 0x80000000u;
}

// The inverse of rank_of.
static inline float unrank(uint r) { return as_type<float>(r >> 31 != 0u ? r & 0x7fffffffu : ~r); }

// Orders tokens: the greater logit first, the lower id among equals.
static inline ulong token_key(float x, uint id) { return ulong(rank_of(x)) << 32 | ulong(~id); }

// The penalised logit of a token that occurs n times among the recent tokens.
static inline float penalise(float x, uint n, device const Sampling * s) {
  if (n == 0u) return x;
  const float factor = x <= 0.0f ? s->repeat_penalty : s->inv_repeat_penalty;
  const float scaled = x * factor;
  const float often = float(n) * s->frequency_penalty;
  const float penalty = often + s->presence_penalty;
  const float lowered = scaled - penalty;
  return settle(lowered);
}

// Finds the entry of a token among n entries, which are sorted by token; returns n if there is none.
static inline uint entry_of(device const Adjust * entries, uint n, uint token) {
  uint low = 0u, high = n;
  while (low < high) {
    const uint middle = (low + high) / 2u;
    const bool above = entries[middle].token < token;
    low = above ? middle + 1u : low;
    high = above ? high : middle;
  }
  return low < n && entries[low].token == token ? low : n;
}

// e^x in units of 2^-30, rounded down, for x <= 0; runtime/text/sample explains the steps.
static inline uint token_weight(float x) {
  if (!(x >= -80.0f)) return 0u;
  const float scaled = x * 1.44269504f;
  const float shifted = scaled + 0.5f;
  const float n = floor(shifted);
  const float high = n * 0.693359375f;
  const float low = n * -2.12194440e-4f;
  float r = x - high;
  r = r - low;
  float p = 1.98412701e-4f * r; p = p + 1.38888892e-3f;
  p = p * r; p = p + 8.33333377e-3f;
  p = p * r; p = p + 4.16666679e-2f;
  p = p * r; p = p + 0.166666672f;
  p = p * r; p = p + 0.5f;
  p = p * r; p = p + 1.0f;
  p = p * r; p = p + 1.0f;
  p = p * as_type<float>(uint(int(n) + 127) << 23);
  p = p * 1073741824.0f;
  return uint(p);
}

// SplitMix64 of a seed and the number of a draw.
static inline ulong mixed(ulong z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ul;
  z = (z ^ z >> 27) * 0x94D049BB133111EBul;
  return z ^ z >> 31;
}
static inline ulong draw_bits(ulong seed, ulong draw) {
  const ulong golden = 0x9E3779B97F4A7C15ul;
  return mixed(mixed(seed + golden) + (draw + 1ul) * golden);
}

// The upper 64 bits of a product.
static inline ulong mul_high(ulong a, ulong b) {
  const ulong al = a & 0xfffffffful, ah = a >> 32, bl = b & 0xfffffffful, bh = b >> 32, low = al * bl, m = ah * bl + (low >> 32), k = al * bh + (m & 0xfffffffful);
  return ah * bh + (m >> 32) + (k >> 32);
}

// Threadgroup memory of picking: bins of keys with a count and three limbs of weight each; sums by thread or
// block; sums of 32 of those; two results.
#define BINS 1024u

// The tokens that a simdgroup scans, and the share of a lane.
#define BLOCK 256u
#define PER_LANE 8u

// Stores the best (rank, id) of a simdgroup's threads. After a barrier, best_key returns the best of all
// simdgroups.
template <uint SIMDGROUPS>
static inline void share_best(uint best, uint id, threadgroup uint * work, ushort sg, ushort lane) {
  const uint top = simd_max(best);
  const uint first = simd_min(best == top ? id : 0xffffffffu);
  if (lane == 0) {
    work[2u * sg] = top;
    work[2u * sg + 1u] = first;
  }
}
template <uint SIMDGROUPS>
static inline ulong best_key(threadgroup const uint * work) {
  ulong best = 0ul;
  for (uint i = 0; i < SIMDGROUPS; ++i) best = max(best, ulong(work[2u * i]) << 32 | ulong(~work[2u * i + 1u]));
  return best;
}

// Adds the tokens with keys in [low, high] to bins, by ten bits of the key from bit `shift` on.
template <uint THREADS, bool WEIGHED>
static inline void fill_bins(device const float * logits, uint n, float top, ulong low, ulong high, uint shift,
                             threadgroup atomic_uint * bins, uint tid) {
  for (uint i = tid; i < 4u * BINS; i += THREADS) atomic_store_explicit(bins + i, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint first = tid; first < n; first += 8u * THREADS) {
    float x[8]; // loads in flight at once
    UNROLL for (uint j = 0; j < 8u; ++j) x[j] = logits[min(first + j * THREADS, n - 1u)];
    UNROLL for (uint j = 0; j < 8u; ++j) {
      const uint i = first + j * THREADS;
      const ulong k = token_key(x[j], i);
      if (i >= n || k < low || k > high) continue;
      threadgroup atomic_uint * bin = bins + (uint(k >> shift) & (BINS - 1u));
      atomic_fetch_add_explicit(bin, 1u, memory_order_relaxed);
      const uint w = WEIGHED ? token_weight(x[j] - top) : 0u;
      if (w == 0u) continue;
      atomic_fetch_add_explicit(bin + BINS, w & 1023u, memory_order_relaxed);
      atomic_fetch_add_explicit(bin + 2u * BINS, w >> 10 & 1023u, memory_order_relaxed);
      atomic_fetch_add_explicit(bin + 3u * BINS, w >> 20, memory_order_relaxed);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The content of a bin: the number of tokens, or the sum of their weights.
template <bool WEIGHED>
static inline ulong bin_amount(threadgroup atomic_uint * bin) {
  if (!WEIGHED) return ulong(atomic_load_explicit(bin, memory_order_relaxed));
  return ulong(atomic_load_explicit(bin + BINS, memory_order_relaxed)) +
         (ulong(atomic_load_explicit(bin + 2u * BINS, memory_order_relaxed)) << 10) +
         (ulong(atomic_load_explicit(bin + 3u * BINS, memory_order_relaxed)) << 20);
}

// Adds up n sums in groups of 32. Contains the barriers before and after.
template <uint SUMS>
static inline void sum_up(threadgroup Wide * sums, uint n, uint tid) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (tid < (n + 31u) / 32u) {
    ulong sum = 0ul;
    for (uint i = tid * 32u; i < min(tid * 32u + 32u, n); ++i) sum += load_wide(sums + i);
    store_wide(sums + SUMS + tid, sum);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// threshold for at most one logit per thread. Some threads may still read `found` when others have returned,
// so the caller needs a barrier before it is written again.
template <uint THREADS, bool WEIGHED>
static inline ulong threshold_of_few(device const float * logits, uint n, float top, ulong need, threadgroup uint * work, uint tid) {
  threadgroup uint * amounts = work + THREADS;
  threadgroup Wide * found = (threadgroup Wide *)(work + 2u * THREADS);
  const float x = logits[min(tid, n - 1u)];
  const uint rank = tid < n ? rank_of(x) : 0u;
  const uint amount = tid >= n ? 0u : (WEIGHED ? token_weight(x - top) : 1u);
  work[tid] = rank;
  amounts[tid] = amount;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (tid < n) {
    ulong above = 0ul;
    for (uint i = 0; i < n; i += 4u) {
      const uint4 r = *(threadgroup const uint4 *)(work + i), a = *(threadgroup const uint4 *)(amounts + i);
      uint many = 0u;
      UNROLL for (uint e = 0; e < 4u; ++e) {
        const bool is = r[e] > rank || (r[e] == rank && i + e < tid);
        if (WEIGHED) above += is ? ulong(a[e]) : 0ul;
        else many += is ? 1u : 0u;
      }
      above += ulong(many);
    }
    if (above < need && above + ulong(amount) >= need) store_wide(found, token_key(x, tid));
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return load_wide(found);
}

// threshold for more logits. Each round finds ten more bits: the bin in which the sum from above reaches
// `need`. As in threshold_of_few, `found` needs a barrier before it is written again, also in the next round.
template <uint SUMS, uint THREADS, bool WEIGHED>
static inline ulong threshold_of_many(device const float * logits, uint n, float top, ulong need, threadgroup uint * work, uint tid) {
  threadgroup atomic_uint * bins = (threadgroup atomic_uint *)work;
  threadgroup Wide * sums = (threadgroup Wide *)(work + 4u * BINS);
  threadgroup uint * found = work + 4u * BINS + 2u * (SUMS + SUMS / 32u);
  const uint per = BINS / THREADS;
  ulong low = 0ul, high = ~0ul;
  for (uint shift = 54u;; shift = max(shift, 10u) - 10u) {
    fill_bins<THREADS, WEIGHED>(logits, n, top, low, high, shift, bins, tid);
    ulong own_bins = 0ul;
    for (uint i = 0; i < per; ++i) own_bins += bin_amount<WEIGHED>(bins + tid * per + i);
    store_wide(sums + tid, own_bins);
    sum_up<SUMS>(sums, THREADS, tid);
    if (tid == 0u) {
      uint s = THREADS / 32u - 1u;
      for (; s > 0u && load_wide(sums + SUMS + s) < need; --s) need -= load_wide(sums + SUMS + s);
      uint t = s * 32u + 31u;
      for (; t > s * 32u && load_wide(sums + t) < need; --t) need -= load_wide(sums + t);
      uint b = t * per + per - 1u;
      for (; b > t * per && bin_amount<WEIGHED>(bins + b) < need; --b) need -= bin_amount<WEIGHED>(bins + b);
      found[0] = b;
      found[1] = atomic_load_explicit(bins + b, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    low |= ulong(found[0]) << shift;
    high = low | ((1ul << shift) - 1ul);
    if (found[1] <= 1u || shift == 0u) break;
  }
  return low;
}

// The greatest key such that the logits with this key or a greater one, among n, are at least `need`, in
// number or, if WEIGHED, in weight.
template <uint SUMS, uint THREADS, bool WEIGHED>
static inline ulong threshold(device const float * logits, uint n, float top, ulong need, threadgroup uint * work, uint tid) {
  // For few logits each thread compares its key with all; beyond 512 the bins are faster.
  return n <= THREADS && n <= 512u ? threshold_of_few<THREADS, WEIGHED>(logits, n, top, need, work, tid)
                      : threshold_of_many<SUMS, THREADS, WEIGHED>(logits, n, top, need, work, tid);
}
