// Adds one block of one of several experts. b counts the blocks of a row of all selected experts, one expert
// after the other. The experts' matrices are stride bytes apart, their inputs `apart` elements.
template <typename T, ushort N, uint COLS, typename X>
static inline void add_block(device const uchar * w, ulong stride, device const Routing * selected, X x, uint apart,
                             uint b, uint part, thread float * sum) {
  const uint blocks = COLS / T::COLUMNS, i = b / blocks;
  float one[N] = {};
  T::template step<N, COLS>(w + selected[i].expert * stride, X{x.p + i * apart}, b - i * blocks, part, one);
  UNROLL for (ushort r = 0; r < N; ++r) sum[r] = fma(selected[i].weight, one[r], sum[r]);
}

// sum[r] += Σ weight * (row r · input) over K experts: the share of one of LANES lanes. Lanes share the
// blocks of all experts as one sequence. So lanes are idle only at its end, and the loads of several experts
// are in flight at once.
template <typename FORMAT, ushort N, uint COLS, uint K, uint LANES, uint FLIGHT, typename X>
static inline void dot_experts(device const uchar * w, ulong stride, device const Routing * selected, X x, uint apart,
                               uint lane, thread float * sum) {
  typedef typename lane_layout<FORMAT, K * (COLS / FORMAT::COLUMNS), LANES>::format T;
  const uint share = T::share(COLS), pass = LANES / share, last = K * (COLS / T::COLUMNS);
  const uint mine = lane / share, part = lane % share;
  uint b = 0;
  IN_FLIGHT for (; b + pass <= last; b += pass) add_block<T, N, COLS>(w, stride, selected, x, apart, b + mine, part, sum);
  if (b + mine < last) add_block<T, N, COLS>(w, stride, selected, x, apart, b + mine, part, sum);
}

// Renumbers lanes so that the simdgroups that are idle at the end of dot_experts come first.
template <typename FORMAT, uint COLS, uint K, uint LANES>
static inline uint idle_first(uint lane) {
  typedef typename lane_layout<FORMAT, K * (COLS / FORMAT::COLUMNS), LANES>::format T;
  const uint busy = (K * (COLS / T::COLUMNS) * T::share(COLS) % LANES + 31u) / 32u * 32u;
  return (lane + LANES - busy) % LANES;
}
