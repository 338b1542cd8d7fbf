// Functions of a simdgroup (a warp). All 32 lanes take part in every call, so the masks contain all lanes.
// The CPU executor checks this.
#pragma once

namespace metal {
constexpr uint all_lanes = 0xffffffffu;
constexpr int last_lane = 31;

// Applies f to each 32-bit word of v.
template <typename T, typename F>
METAL_FUNC T each_word(T v, F f) {
  if constexpr (sizeof(T) == 1) {
    return __builtin_bit_cast(T, uchar(f(__builtin_bit_cast(uchar, v))));
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, ushort(f(__builtin_bit_cast(ushort, v))));
  } else {
    struct words {
      int word[sizeof(T) / 4];
    };
    words w = __builtin_bit_cast(words, v);
    for (uint i = 0; i < sizeof(T) / 4; ++i) w.word[i] = f(w.word[i]);
    return __builtin_bit_cast(T, w);
  }
}

template <typename T> METAL_FUNC T simd_shuffle(T v, ushort lane) {
  return each_word(v, [=](int w) { return __nvvm_shfl_sync_idx_i32(all_lanes, w, lane, last_lane); });
}
template <typename T> METAL_FUNC T simd_shuffle_xor(T v, ushort mask) {
  return each_word(v, [=](int w) { return __nvvm_shfl_sync_bfly_i32(all_lanes, w, mask, last_lane); });
}
template <typename T> METAL_FUNC T simd_shuffle_down(T v, ushort n) {
  return each_word(v, [=](int w) { return __nvvm_shfl_sync_down_i32(all_lanes, w, n, last_lane); });
}
template <typename T> METAL_FUNC T simd_shuffle_up(T v, ushort n) {
  return each_word(v, [=](int w) { return __nvvm_shfl_sync_up_i32(all_lanes, w, n, 0); });
}
template <typename T> METAL_FUNC T simd_broadcast(T v, ushort lane) { return simd_shuffle(v, lane); }
template <typename T> METAL_FUNC T simd_broadcast_first(T v) { return simd_shuffle(v, ushort(0)); }

// Reduces v over all lanes with f. Every lane gets the same bits, because f is commutative. The order is that
// of the CPU executor: lane i with i + 16, then with i + 8, ….
template <typename T, typename F>
METAL_FUNC T simd_reduce(T v, F f) {
  for (ushort d = simd_width / 2; d; d /= 2) v = f(v, simd_shuffle_xor(v, d));
  return v;
}
template <typename T> METAL_FUNC T simd_sum(T v) { return simd_reduce(v, [](T a, T b) { return T(a + b); }); }
template <typename T> METAL_FUNC T simd_product(T v) { return simd_reduce(v, [](T a, T b) { return T(a * b); }); }
template <typename T> METAL_FUNC T simd_max(T v) { return simd_reduce(v, [](T a, T b) { return max(a, b); }); }
template <typename T> METAL_FUNC T simd_min(T v) { return simd_reduce(v, [](T a, T b) { return min(a, b); }); }
template <typename T> METAL_FUNC T simd_or(T v) { return simd_reduce(v, [](T a, T b) { return T(a | b); }); }
template <typename T> METAL_FUNC T simd_and(T v) { return simd_reduce(v, [](T a, T b) { return T(a & b); }); }
template <typename T> METAL_FUNC T simd_xor(T v) { return simd_reduce(v, [](T a, T b) { return T(a ^ b); }); }

// One instruction for 32-bit integers.
METAL_FUNC uint simd_sum(uint v) { return uint(__nvvm_redux_sync_add(int(v), all_lanes)); }
METAL_FUNC int simd_sum(int v) { return __nvvm_redux_sync_add(v, all_lanes); }
METAL_FUNC uint simd_max(uint v) { return uint(__nvvm_redux_sync_umax(v, all_lanes)); }
METAL_FUNC int simd_max(int v) { return __nvvm_redux_sync_max(v, all_lanes); }
METAL_FUNC uint simd_min(uint v) { return uint(__nvvm_redux_sync_umin(v, all_lanes)); }
METAL_FUNC int simd_min(int v) { return __nvvm_redux_sync_min(v, all_lanes); }
METAL_FUNC uint simd_or(uint v) { return uint(__nvvm_redux_sync_or(int(v), all_lanes)); }
METAL_FUNC uint simd_and(uint v) { return uint(__nvvm_redux_sync_and(int(v), all_lanes)); }
METAL_FUNC uint simd_xor(uint v) { return uint(__nvvm_redux_sync_xor(int(v), all_lanes)); }

METAL_FUNC bool simd_any(bool v) { return __nvvm_vote_any_sync(all_lanes, v); }
METAL_FUNC bool simd_all(bool v) { return __nvvm_vote_all_sync(all_lanes, v); }

// The inclusive prefix sum over the lanes, in log2(32) steps.
template <typename T>
METAL_FUNC T simd_prefix_inclusive_sum(T v) {
  const uint lane = position::thread_index_in_simdgroup();
  for (ushort d = 1; d < simd_width; d *= 2) {
    const T below = simd_shuffle_up(v, d);
    if (lane >= d) v = T(v + below);
  }
  return v;
}
template <typename T>
METAL_FUNC T simd_prefix_exclusive_sum(T v) {
  const T below = simd_shuffle_up(simd_prefix_inclusive_sum(v), ushort(1));
  return position::thread_index_in_simdgroup() == 0 ? T(0) : below;
}
}
