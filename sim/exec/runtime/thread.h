// What compiled kernels and the run time know of each other.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "../msl.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint3 __attribute__((ext_vector_type(3)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef ushort ushort3 __attribute__((ext_vector_type(3)));

constexpr uint msl_simd_width = 32;

// Where a thread is in the grid.
struct msl_thread {
  uint3 group, groups;   // threadgroup, threadgroups in the grid
  uint3 thread, threads; // thread in the threadgroup, threads per threadgroup
  uint index;            // of the thread in the threadgroup
};

// A kernel as the generated table knows it.
typedef void (*msl_entry)(const msl_launch *, const msl_thread &);

#pragma GCC visibility push(default) // the run time is an object of its own, which kernels of several share

// Runs all threads of a launch.
void msl_run(const msl_launch *, const msl_kernel *, msl_entry);

// Memory that a barrier or fence orders; the bits of metal::mem_flags.
enum msl_memory : int { msl_no_memory = 0, msl_device = 1, msl_threadgroup = 2 };

// Threads wait here for the rest of their threadgroup or simdgroup.
void msl_threadgroup_barrier(int memory);
void msl_simdgroup_barrier(int memory);

// How lanes show each other what they have: each writes to the board, msl_show waits
// for the simdgroup, and what is on the board then stays until the next msl_show. Lane
// 0 returns first, then 1, ….
constexpr size_t msl_board_bytes = msl_simd_width * 24; // three matrices of floats
void *msl_board();
void msl_show();
void msl_whole_simdgroup(); // msl_show for what all 32 lanes have to do together
uint msl_lane();
uint msl_lanes(); // of this simdgroup; less than 32 only in a last, partial one

// The array number index of the kernel in threadgroup memory.
void *msl_threadgroup_array(uint index, size_t size);

// A copy from device to threadgroup memory: bytes, and zeros after them.
struct msl_copy {
  void *to;
  const void *from;
  uint bytes, zeros;
};

// A thread begins a copy, ends a group of them, and asks for the next one that has to arrive: of all groups but
// the last `but` of them, or of -1: of all, and those that are in no group. False: there is none.
void msl_begin_copy(const msl_copy &);
void msl_end_group();
bool msl_next_copy(msl_copy *, int but);

// atomic_thread_fence(memory, order, thread_scope_device).
void msl_device_fence();

// Says that an atomic operation touches [at, at+size).
void msl_atomic(const volatile void *at, size_t size, bool store);

#pragma GCC visibility pop
