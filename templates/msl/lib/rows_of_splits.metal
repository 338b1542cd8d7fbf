// The number of cache rows of one of COUNT attention splits, which are as many as the GPU at hand has use
// for; see plan.Splits.
template <uint TILE, uint LEAST>
static inline uint rows_of_splits(uint nkv, uint splits) {
  uint least = LEAST;
  while (4u * least * least < nkv) least *= 2u;
  return max(least, (nkv + splits * TILE - 1u) / (splits * TILE) * TILE);
}
