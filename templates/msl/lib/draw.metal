// Copies the logits whose keys are at least `from` to `kept`, and their ids to `ids`, in the order of the
// ids. Returns their number. Each simdgroup has a range of blocks, and goes over the blocks whose best logit
// qualifies: first to count, then to copy.
template <uint VOCAB, uint BLOCKS, uint SIMDGROUPS>
static inline uint keep_tokens(device const float * logits, device const float * tops, ulong from, device float * kept,
                               device uint * ids, threadgroup uint * counts, ushort sg, ushort lane) {
  const uint run = (BLOCKS + SIMDGROUPS - 1u) / SIMDGROUPS, end = min((sg + 1u) * run, BLOCKS);
  float x[PER_LANE];
  uint at = 0u, all = 0u;
  for (uint pass = 0; pass < 2u; ++pass) {
    for (uint first = sg * run; first < end; first += 32u) {
      const uint own_block = first + lane;
      uint block = own_block < end && rank_of(tops[min(own_block, BLOCKS - 1u)]) >= uint(from >> 32) ? own_block : BLOCKS;
      for (uint b = simd_min(block); b < BLOCKS; b = simd_min(block)) {
        block = block == b ? BLOCKS : block;
        const uint i = b * BLOCK + lane * PER_LANE; // a lane has neighbours
        bool is[PER_LANE];
        uint own = 0u;
        UNROLL for (uint j = 0; j < PER_LANE; ++j) {
          x[j] = logits[min(i + j, VOCAB - 1u)];
          is[j] = i + j < VOCAB && token_key(x[j], i + j) >= from;
          own += is[j] ? 1u : 0u;
        }
        uint to = at + simd_prefix_inclusive_sum(own) - own;
        UNROLL for (uint j = 0; j < PER_LANE; ++j) {
          if (pass == 0u || !is[j]) continue;
          kept[to] = x[j];
          ids[to++] = i + j;
        }
        at += simd_sum(own);
      }
    }
    if (pass == 1u) break;
    if (lane == 0) counts[sg] = at;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    at = 0u;
    for (uint i = 0; i < SIMDGROUPS; ++i) {
      at += i < sg ? counts[i] : 0u;
      all += counts[i];
    }
  }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  return all;
}

// The weights of a lane's logits in block b of n logits, at a temperature; 0 if the key is below `from` or
// the logit too low.
static inline void chosen_weights(device const float * logits, uint n, uint b, float top, ulong from, float lowest, float scale,
                                  thread uint * weights, ushort lane) {
  float x[PER_LANE];
  UNROLL for (uint j = 0; j < PER_LANE; ++j) x[j] = logits[min(b * BLOCK + j * 32u + lane, n - 1u)];
  UNROLL for (uint j = 0; j < PER_LANE; ++j) {
    const uint i = b * BLOCK + j * 32u + lane;
    const float below = x[j] - top;
    const float scaled = below * scale;
    const uint weight = token_weight(scaled); // for all logits, without a branch
    weights[j] = i < n && token_key(x[j], i) >= from && below >= lowest ? weight : 0u;
  }
}

// Sums the weights of n logits, by block and by 32 blocks into `sums`, and returns the total.
template <uint SUMS, uint SIMDGROUPS>
static inline ulong weigh_tokens(device const float * logits, uint n, float top, ulong from, float lowest, float scale,
                                 threadgroup Wide * sums, uint tid, ushort sg, ushort lane) {
  const uint blocks = (n + BLOCK - 1u) / BLOCK;
  for (uint b = sg; b < blocks; b += SIMDGROUPS) {
    ulong sum = 0ul;
    uint weights[PER_LANE];
    chosen_weights(logits, n, b, top, from, lowest, scale, weights, lane);
    UNROLL for (uint j = 0; j < PER_LANE; ++j) sum += ulong(weights[j]);
    const ulong whole = (ulong(simd_sum(uint(sum >> 17))) << 17) + ulong(simd_sum(uint(sum & 0x1fffful)));
    if (lane == 0) store_wide(sums + b, whole);
  }
  sum_up<SUMS>(sums, blocks, tid);
  ulong all = 0ul;
  for (uint i = 0; i < (blocks + 31u) / 32u; ++i) all += load_wide(sums + SUMS + i);
  return all;
}

// Returns which of n logits a draw selects: logits with weights partition an interval, in order, each as wide
// as its weight.
template <uint SUMS, uint SIMDGROUPS>
static inline uint draw_token(device const float * logits, uint n, float top, ulong from, float lowest, float scale, ulong random,
                              threadgroup Wide * sums, threadgroup uint * found, uint tid, ushort sg, ushort lane) {
  const ulong all = weigh_tokens<SUMS, SIMDGROUPS>(logits, n, top, from, lowest, scale, sums, tid, sg, lane);
  ulong left = mul_high(random, all);
  uint b = 0u;
  for (; left >= load_wide(sums + SUMS + b); ++b) left -= load_wide(sums + SUMS + b);
  for (b *= 32u; left >= load_wide(sums + b); ++b) left -= load_wide(sums + b);
  if (sg == 0) {
    uint weights[PER_LANE];
    chosen_weights(logits, n, b, top, from, lowest, scale, weights, lane);
    UNROLL for (uint j = 0; j < PER_LANE; ++j) {
      const uint w = weights[j];
      const ulong until = (ulong(simd_prefix_inclusive_sum(w >> 15)) << 15) + ulong(simd_prefix_inclusive_sum(w & 0x7fffu));
      const ulong whole = (ulong(simd_sum(w >> 15)) << 15) + ulong(simd_sum(w & 0x7fffu));
      if (left < until && left + ulong(w) >= until) found[0] = b * BLOCK + j * 32u + lane;
      if (left < whole) break;
      left -= whole;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return found[0];
}

// top-k, top-p, min-p, temperature and draw. If top_k is at most the number of blocks, the top_k-th best of
// the blocks' best logits is a lower bound of the top-k. The logits above the bound are copied, and later
// steps read only the copies.
template <uint VOCAB, uint BLOCKS, uint THREADS>
static inline uint sample_token(device const float * values, device const float * tops, device const Sampling * s,
                                device float * kept, device uint * ids, float top, threadgroup uint * work,
                                uint tid, ushort sg, ushort lane) {
  const uint SUMS = ((BLOCKS > THREADS ? BLOCKS : THREADS) + 31u) / 32u * 32u;
  threadgroup Wide * sums = (threadgroup Wide *)(work + 4u * BINS);
  threadgroup uint * found = work + 4u * BINS + 2u * (SUMS + SUMS / 32u);
  const bool cut = s->top_k != 0u && s->top_k < VOCAB;
  device const float * x = cut ? kept : values;
  uint n = VOCAB;
  ulong from = 0ul;
  if (cut) {
    const bool few = s->top_k <= BLOCKS;
    ulong bound = threshold<SUMS, THREADS, false>(few ? tops : values, few ? BLOCKS : VOCAB, top, ulong(s->top_k), work, tid);
    if (few) bound = bound >> 32 << 32;
    n = keep_tokens<VOCAB, BLOCKS, THREADS / 32u>(values, tops, bound, kept, ids, work, sg, lane);
    if (few) from = threshold<SUMS, THREADS, false>(x, n, top, ulong(s->top_k), work, tid);
  }
  if (s->top_p < 1ul << 32) {
    const ulong all = weigh_tokens<SUMS, THREADS / 32u>(x, n, top, from, -3.40282347e+38f, 1.0f, sums, tid, sg, lane);
    const ulong part = (all >> 32) * s->top_p + (((all & 0xfffffffful) * s->top_p + 0xfffffffful) >> 32);
    from = threshold<SUMS, THREADS, true>(x, n, top, max(part, 1ul), work, tid);
  }
  const uint i = draw_token<SUMS, THREADS / 32u>(x, n, top, from, s->log_min_p, s->inv_temperature, draw_bits(s->seed, s->draw),
                                                 sums, found, tid, sg, lane);
  return cut ? ids[i] : i;
}
