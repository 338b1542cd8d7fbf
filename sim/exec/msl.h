// The contract between a Metal source compiled for the CPU (by sim/exec) and
// whatever launches its kernels (the Go tests, the Metal simulator).
//
// A compiled source is a shared object that exports msl_kernels(). Nothing is
// carried from one launch to the next. Launches of a process take turns: a second
// thread that calls run() waits for the first.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MSL_MAX_BUFFERS = 31 };

// One launch of a kernel. buffers[i] is bound to [[buffer(i)]], sizes[i] is how
// many bytes may be touched from there on.
typedef struct msl_launch {
  void *buffers[MSL_MAX_BUFFERS];
  uint64_t sizes[MSL_MAX_BUFFERS];
  uint32_t groups[3];   // threadgroups
  uint32_t threads[3];  // threads per threadgroup
  uint64_t seed;        // order of the threadgroups; 0: ascending
  uint32_t flags;       // MSL_STORE_DELAY, ...
  // Called for every fault instead of abort(); may be null. A fault ends the
  // launch: run() returns, and the contents of written buffers are undefined.
  // The rules are listed at the end of this file.
  void (*fault)(void *context, const char *rule, const char *text);
  // Called at the end of the launch, once for each run of neighbouring bytes that
  // the kernel really loaded (write 0) or stored (write 1), in ascending order per
  // buffer memory; may be null. Only checked builds (kernel.checked) call it.
  void (*touched)(void *context, const void *at, uint64_t bytes, int write);
  void *context;
} msl_launch;

// Until a threadgroup runs a device-scope fence and an atomic operation after it,
// other threadgroups of the launch see the old contents of what it stored, instead
// of the fault device-race. Needs a checked build.
enum { MSL_STORE_DELAY = 1 };

typedef struct msl_kernel {
  const char *name;
  uint32_t buffers;           // bit i: has [[buffer(i)]]
  uint32_t constants;         // bit i: [[buffer(i)]] is in constant space
  uint32_t writable;          // bit i: [[buffer(i)]] is device and not const
  uint32_t threadgroup_bytes; // static threadgroup memory
  uint32_t max_threads;       // 1024, or what the source declares
  uint32_t checked;           // 1: every load and store is checked
  void (*run)(const msl_launch *);
  const char *begin, *end;    // the object that has the kernel, with its constants
} msl_kernel;

// The kernels of the object, in source order; *n is their number.
const msl_kernel *msl_kernels(uint32_t *n);

// The rules that fault() names:
//   launch              threads, groups or buffers that the kernel cannot take
//   barrier-divergence  a threadgroup_barrier that not all threads come to
//   simd-divergence     a simdgroup function or barrier with inactive lanes
//   store-conflict      two threadgroups store to the same byte without a fence
//   copy-pending        a copy that is still on its way at the end of its threadgroup
// and in checked builds
//   out-of-bounds       an access outside buffers (by sizes), threadgroup memory,
//                       the thread's stack and the constants of the source
//   misaligned          an access at no multiple of the size of its type
//   uninitialised       a load of threadgroup memory that nothing stored before
//   threadgroup-race    two threads of a threadgroup touch the same byte, one of
//                       them stores, and no barrier with the flag of that memory
//                       lies between them
//   device-race         a threadgroup loads what another one stored, or stores
//                       what another one loaded, without the order that comes from
//                       device-scope fences: store, fence, atomic operation in one;
//                       atomic operation, fence, access in the other. The same where
//                       one of the two accesses is an atomic operation

#ifdef __cplusplus
}
#endif
