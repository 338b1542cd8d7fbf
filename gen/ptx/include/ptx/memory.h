// Barriers, fences and atomics. The barrier of CUDA orders all memory that the threads share, so
// memory flags are ignored.
#pragma once

namespace metal {
enum class mem_flags : int { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
METAL_FUNC constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }

METAL_FUNC void threadgroup_barrier(mem_flags) { __syncthreads(); }
METAL_FUNC void simdgroup_barrier(mem_flags) { __nvvm_bar_warp_sync(all_lanes); }

// Programmatic dependent launch: GRID_WAIT waits for the end of the dispatch before, and LAUNCH_DEPENDENTS allows
// the next one to begin. Without such a launch both do nothing.
#define GRID_WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
#define LAUNCH_DEPENDENTS asm volatile("griddepcontrol.launch_dependents;" ::: "memory")

// Fetches a simdgroup's weights into the level-2 cache, a line per lane.
METAL_FUNC void prefetch(const uchar *rows, ulong bytes) {
  for (ulong at = position::thread_index_in_simdgroup() * 128u; at < bytes; at += simd_width * 128u)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(rows + at));
}
#define PREFETCH_L2(rows, bytes) metal::prefetch(rows, bytes)

// Brings a simdgroup's weights from there into the level-1 cache, whose lines are filled
// in sectors of 32 bytes: one sector per lane.
METAL_FUNC void bring_near(const uchar *rows, ulong bytes) {
  const ulong first = position::thread_index_in_simdgroup() * 32u;
  _Pragma("clang loop unroll(full)") for (ulong at = 0; at < bytes; at += simd_width * 32u)
    if (at + first < bytes) asm volatile("prefetch.global.L1 [%0];" ::"l"(rows + at + first));
}
#define PREFETCH_L1(rows, bytes) metal::bring_near(rows, bytes)

// Asynchronous copies to shared memory (cp.async), which need no registers. The copies of a thread are
// complete after COPIES_LAND.
struct sixteen_bytes {
  // NEAR keeps the data in the level-1 cache too, for data that is read again from there.
  template <bool NEAR = false>
  METAL_FUNC static void begin_copy(sixteen_bytes &, uint4 *to, const uint4 *from, uint bytes) {
    const uint at = uint(ulong((__attribute__((address_space(3))) void *)to));
    const auto source = (__attribute__((address_space(1))) const void *)from;
    if constexpr (NEAR) asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(source), "r"(bytes) : "memory");
    else asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(source), "r"(bytes) : "memory");
  }
  METAL_FUNC static void end_copy(const sixteen_bytes &, uint4 *) {}
};
// Weights, of which a copy takes a piece of each of several rows: the level-2 cache fetches whole lines of 128 bytes,
// as their other pieces are wanted soon. DeepSeek-V2-Lite's 8 and 16 sessions ran at 2,608 and 3,911 tok/s instead
// of 2,496 and 3,740 with it for copies of 16 bytes, and at 2,752 and 4,059 instead of 2,726 and 4,020 for the rest, on
// an NVIDIA H100.
template <typename V>
struct whole_copy {
  METAL_FUNC static void begin_whole(V *to, const V *from) {
    const uint at = uint(ulong((__attribute__((address_space(3))) void *)to));
    const auto source = (__attribute__((address_space(1))) const void *)from;
    if constexpr (sizeof(V) == 16) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(at), "l"(source) : "memory");
    else asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(at), "l"(source), "n"(sizeof(V)) : "memory");
  }
};
#define COPIES_LAND asm volatile("cp.async.wait_all;" ::: "memory")
#define COPIES_GROUP asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_LAND_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

enum memory_order : int { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum thread_scope : int { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };

// Acquire-release order is enough between threadgroups that hand over memory. One stores, executes a fence,
// then an atomic operation. Another executes a later atomic operation on the same address, then a fence, then
// loads.
#define FENCE_ORDER memory_order_acq_rel

METAL_FUNC void atomic_thread_fence(mem_flags, memory_order order, thread_scope scope = thread_scope_device) {
  if (scope != thread_scope_device) {
    asm volatile("fence.acq_rel.cta;" ::: "memory");
  } else if (order == memory_order_seq_cst) {
    asm volatile("fence.sc.gpu;" ::: "memory");
  } else {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
}

// MSL's atomic operations are relaxed; fences order what is around them.
template <typename T> struct atomic { T value; };
typedef atomic<uint> atomic_uint;
typedef atomic<int> atomic_int;
typedef atomic<float> atomic_float;

template <typename T> struct same { typedef T type; };
template <typename T> METAL_FUNC T atomic_load_explicit(const atomic<T> *a, memory_order) {
  return __atomic_load_n(&a->value, __ATOMIC_RELAXED);
}
template <typename T> METAL_FUNC void atomic_store_explicit(atomic<T> *a, typename same<T>::type v, memory_order) {
  __atomic_store_n(&a->value, v, __ATOMIC_RELAXED);
}
#define ATOMIC(name, builtin)                                                                            \
  template <typename T> METAL_FUNC T name(atomic<T> *a, typename same<T>::type v, memory_order) { \
    return builtin(&a->value, v, __ATOMIC_RELAXED);                                                       \
  }
ATOMIC(atomic_exchange_explicit, __atomic_exchange_n)
ATOMIC(atomic_fetch_add_explicit, __atomic_fetch_add)
ATOMIC(atomic_fetch_sub_explicit, __atomic_fetch_sub)
ATOMIC(atomic_fetch_max_explicit, __atomic_fetch_max)
ATOMIC(atomic_fetch_min_explicit, __atomic_fetch_min)
ATOMIC(atomic_fetch_or_explicit, __atomic_fetch_or)
ATOMIC(atomic_fetch_and_explicit, __atomic_fetch_and)
#undef ATOMIC

template <typename T>
METAL_FUNC bool atomic_compare_exchange_weak_explicit(atomic<T> *a, T *expected, typename same<T>::type desired,
                                                      memory_order, memory_order) {
  return __atomic_compare_exchange_n(&a->value, expected, desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
}
