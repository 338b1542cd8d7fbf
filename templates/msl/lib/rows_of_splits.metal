// The number of cache rows of an attention split, when the device has chosen the number of splits; see
// plan.Splits.PerCore.
template <uint TILE, uint LEAST>
static inline uint rows_of_splits(uint nkv, uint splits) {
  uint least = LEAST;
  while (4u * least * least < nkv) least *= 2u;
  return max(least, (nkv + splits * TILE - 1u) / (splits * TILE) * TILE);
}
