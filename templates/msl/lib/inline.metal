// Helpers are inline whatever their size: a call would put arrays that belong into registers into
// memory. What runs them on a CPU may call them: compiling takes most of its time.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#ifndef MLA_CALLS
#define inline inline __attribute__((always_inline))
#endif
