// Barriers and copies of ptx/memory.h for fibers.
#pragma once

namespace metal {
enum class mem_flags : int { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
inline constexpr mem_flags operator|(mem_flags a, mem_flags) { return a; }
inline void threadgroup_barrier(mem_flags) { fibers::wait(fibers::threadgroup, fibers::count); }
inline void simdgroup_barrier(mem_flags) { fibers::wait(fibers::simdgroups[fibers::current / 32], 32); }

#define GRID_WAIT
#define LAUNCH_DEPENDENTS
#define PREFETCH_L2(rows, bytes)
#define PREFETCH_L1(rows, bytes)

struct sixteen_bytes {
  template <bool NEAR = false>
  static void begin_copy(sixteen_bytes &, uint4 *to, const uint4 *from, uint bytes) { fibers::begin({to, from, bytes}); }
  static void end_copy(const sixteen_bytes &, uint4 *) {}
};
#define COPIES_LAND fibers::land()

// What other kernels of the file mention.
template <typename WORDS> struct whole_copy {
  static void begin_whole(WORDS *, const WORDS *) { abort(); }
};
#define COPIES_GROUP abort()
#define COPIES_LAND_BUT(n) abort()
enum memory_order : int { memory_order_relaxed, memory_order_seq_cst, memory_order_acq_rel };
enum thread_scope : int { thread_scope_threadgroup, thread_scope_device };
#define FENCE_ORDER memory_order_acq_rel
inline void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) { abort(); }
struct atomic_uint {
  uint value;
};
inline uint atomic_fetch_add_explicit(atomic_uint *, uint, memory_order) { abort(); }
inline uint atomic_load_explicit(const atomic_uint *, memory_order) { abort(); }
inline void atomic_store_explicit(atomic_uint *, uint, memory_order) { abort(); }
}
