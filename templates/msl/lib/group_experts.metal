// The expert of selection s, or 0xffffffff if its row is unused. The routing of rows is STRIDE elements
// apart. Both loads are in flight at once.
template <uint K, uint STRIDE>
static inline uint selected(constant Row * all, device const Routing * choices, uint s) {
  const uint expert = choices[s / K * STRIDE + s % K].expert, nkv = all[s / K].nkv;
  return nkv > 0u ? expert : 0xffffffffu;
}
