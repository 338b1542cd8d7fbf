// The contract between a Metal source compiled for the CPU (by sim/exec) and
// whatever launches its kernels (the Go tests, the Metal simulator).
//
// A compiled source is a shared object that exports msl_kernels(). It keeps no
// state between launches.
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
  // Called for every fault instead of abort(); may be null.
  void (*fault)(void *context, const char *rule, const char *text);
  void *context;
} msl_launch;

// A threadgroup's device writes stay invisible to others until a device fence.
enum { MSL_STORE_DELAY = 1 };

typedef struct msl_kernel {
  const char *name;
  uint32_t buffers;           // bit i: has [[buffer(i)]]
  uint32_t constants;         // bit i: [[buffer(i)]] is in constant space
  uint32_t threadgroup_bytes; // static threadgroup memory
  uint32_t max_threads;       // 1024, or what the source declares
  void (*run)(const msl_launch *);
} msl_kernel;

// The kernels of the object, in source order; *n is their number.
const msl_kernel *msl_kernels(uint32_t *n);

#ifdef __cplusplus
}
#endif
