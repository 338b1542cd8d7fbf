// Helpers are always inlined: a call would move arrays from registers to memory. The simulator on CPUs
// defines MLA_CALLS, because compiling inlined helpers takes most of its time.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#ifndef MLA_CALLS
#define inline inline __attribute__((always_inline))
#endif
