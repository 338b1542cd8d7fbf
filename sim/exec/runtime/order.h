// Which accesses of a launch are ordered. Time is a count of barriers; an access
// carries its time and its thread, and happens before another one if a barrier with
// the flag of the memory lies between them.
#pragma once
#include "launch.h"

enum memory_kind { threadgroup_memory, device_memory, memory_kinds };

struct order_state {
  uint32_t now = 1; // never goes back, so that records of earlier launches are old
  uint32_t launch, group; // when these began
  uint32_t met[memory_kinds];                        // last barrier of the threadgroup
  uint32_t met_simd[memory_kinds][max_threads / 32]; // of each simdgroup
};
extern order_state order;

// Readers: a thread, or several threads of one simdgroup, or of more.
constexpr uint16_t several = 0x4000, many = 0x7fff;

// Whether what other did at time happens before what the running thread does now.
inline bool ordered(memory_kind kind, uint32_t time, uint16_t other) {
  const uint me = launch.current;
  if (other == me || time <= order.met[kind]) return true;
  const uint simdgroup = other & several ? uint(other & ~several) : other / msl_simd_width;
  return other != many && simdgroup == me / msl_simd_width && time <= order.met_simd[kind][simdgroup];
}
