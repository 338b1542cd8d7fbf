// Gating runs in one simdgroup. For each of ROWS rows, lane l has N experts: l, l + 32, …. Each step is done
// for all rows before the next step, so that rows do not wait for each other. Scores become keys, integers in
// the same order, because a simdgroup finds the greatest integer in one step. Key 0 is no expert. NaN counts
// as the mask, -1e30, so that there is always an expert to pick.

// Loads the lane's share of EXPERTS numbers, and 0 beyond them.
template <uint N, uint EXPERTS>
static inline void load_own(thread float * mine, device const float * all, ushort lane) {
  UNROLL for (uint i = 0; i < N; ++i) mine[i] = 32u * i + lane < EXPERTS ? all[32u * i + lane] : 0.0f;
}

static inline uint key_of(float score) {
  const uint bits = as_type<uint>((score > -1e30f ? score : -1e30f) + 0.0f); // -0 becomes 0
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

static inline float score_of(uint key) { return as_type<float>((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

// The key of expert e, or 0 if e is beyond EXPERTS.
template <uint EXPERTS>
static inline uint expert_key(float score, uint e) { return e < EXPERTS ? key_of(score) : 0u; }

// The greatest key of a simdgroup.
template <uint N>
static inline uint greatest(thread const uint * keys) {
  uint best = keys[0];
  UNROLL for (uint i = 1; i < N; ++i) best = max(best, keys[i]);
  return simd_max(best);
}

// The first expert with the given key.
template <uint N>
static inline uint first_with(thread const uint * keys, uint key, ushort lane) {
  uint at = 32u * N;
  UNROLL for (uint i = N; i-- > 0u;) at = keys[i] == key ? 32u * i + lane : at;
  return simd_min(at);
}

// Finds each row's first expert with the greatest key, and removes it.
template <uint ROWS, uint N>
static inline void pick(thread uint * keys, thread uint * first, ushort lane) {
  uint best[ROWS];
  UNROLL for (uint r = 0; r < ROWS; ++r) best[r] = greatest<N>(keys + r * N);
  UNROLL for (uint r = 0; r < ROWS; ++r) first[r] = first_with<N>(keys + r * N, best[r], lane);
  UNROLL for (uint i = 0; i < ROWS * N; ++i) keys[i] = 32u * (i % N) + lane == first[i / N] ? 0u : keys[i];
}

// Picks the best remaining expert of each row, and keeps it in lane k.
template <uint ROWS, uint N>
static inline void pick_for(uint k, thread uint * keys, thread uint * picked, ushort lane) {
  uint first[ROWS];
  pick<ROWS, N>(keys, first, lane);
  UNROLL for (uint r = 0; r < ROWS; ++r) picked[r] = lane == k ? first[r] : picked[r];
}

// Masks all groups of SIZE experts but the KEEP best; a group's score is the sum of its two
// best, or that of a lone expert.
template <uint N, uint GROUPS, uint SIZE, uint KEEP>
static inline void limit_groups(thread uint * keys, ushort lane) {
  float scores[GROUPS];
  UNROLL for (uint g = 0; g < GROUPS; ++g) {
    uint members[N], first[1];
    UNROLL for (uint i = 0; i < N; ++i) members[i] = (32u * i + lane) / SIZE == g ? keys[i] : 0u;
    scores[g] = score_of(greatest<N>(members));
    pick<1, N>(members, first, lane);
    if (SIZE > 1u) scores[g] += score_of(greatest<N>(members));
  }
  UNROLL for (uint g = 0; g < GROUPS; ++g) {
    uint better = 0;
    UNROLL for (uint j = 0; j < GROUPS; ++j) better += scores[j] > scores[g] || (scores[j] == scores[g] && j < g) ? 1u : 0u;
    UNROLL for (uint i = 0; i < N; ++i) keys[i] = better >= KEEP && (32u * i + lane) / SIZE == g ? key_of(-1e30f) : keys[i];
  }
}

// Replaces logits by e^(logit - maximum), and computes their sum, for each row. The greatest key belongs to
// the maximum.
template <uint ROWS, uint N, uint EXPERTS>
static inline void softmax(thread float * scores, thread float * sums, ushort lane) {
  uint keys[ROWS * N];
  UNROLL for (uint i = 0; i < ROWS * N; ++i) keys[i] = expert_key<EXPERTS>(scores[i], 32u * (i % N) + lane);
  float top[ROWS];
  UNROLL for (uint r = 0; r < ROWS; ++r) {
    top[r] = score_of(greatest<N>(keys + r * N));
    sums[r] = 0.0f;
  }
  UNROLL for (uint i = 0; i < ROWS * N; ++i) {
    scores[i] = exp(scores[i] - top[i / N]);
    sums[i / N] += 32u * (i % N) + lane < EXPERTS ? scores[i] : 0.0f;
  }
  sum_lanes<ROWS>(sums);
}

// Returns the score of expert e, which may be in another lane.
template <uint N>
static inline float score_at(thread const float * scores, uint e) {
  float score = 0.0f;
  UNROLL for (uint i = 0; i < N; ++i) {
    const float other = simd_shuffle(scores[i], ushort(e % 32u));
    score = e / 32u == i ? other : score;
  }
  return score;
}

// Divides the weights in the first K lanes by their sum, or by 2^-14 if that is larger, for each row.
template <uint ROWS, uint K>
static inline void normalize_weights(thread float * weights, ushort lane) {
  float sums[ROWS];
  UNROLL for (uint r = 0; r < ROWS; ++r) sums[r] = lane < K ? weights[r] : 0.0f;
  sum_lanes<ROWS>(sums);
  UNROLL for (uint r = 0; r < ROWS; ++r) weights[r] /= max(sums[r], 6.103515625e-05f);
}
