// What kernels and driver know of each other.
#pragma once
#include <stddef.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// Where threads wait for each other.
enum meeting : int { in_simdgroup = 1, in_threadgroup = 2 };
__attribute__((convergent)) void meet(meeting where); // returns when all threads have come; never duplicated
void put(const void *v, size_t n);      // shows the lane's value to its simdgroup
void get(void *v, size_t n, uint lane); // another lane's value
uint lane_index();
float *threadgroup_memory(size_t n); // n floats, NaN at the start of a threadgroup

// A kernel function and its name; the table ends with an empty one.
struct entry_point {
  const char *name;
  void (*call)(void **buffers, uint tg, uint tid, ushort sg, ushort lane);
};
extern const entry_point entry_points[];
