// The expert of selection s, or none of a dead row, of rows whose routing is STRIDE apart. Both are loaded at once.
template <uint K, uint STRIDE>
static inline uint selected(constant Row * all, device const Routing * choices, uint s) {
  const uint expert = choices[s / K * STRIDE + s % K].expert, nkv = all[s / K].nkv;
  return nkv > 0u ? expert : 0xffffffffu;
}
