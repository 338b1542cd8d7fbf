// Positions of a thread in the grid. Grids and threadgroups have one dimension, as in all plans: a dispatch
// is Kernel.Groups() threadgroups of Kernel.Threads threads.
#pragma once

namespace metal {
constexpr uint simd_width = 32;

// The functions have the names of the attributes of a kernel's parameters.
namespace position {
METAL_FUNC uint threadgroup_position_in_grid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
METAL_FUNC uint threadgroups_per_grid() { return __nvvm_read_ptx_sreg_nctaid_x(); }
METAL_FUNC uint thread_position_in_threadgroup() { return __nvvm_read_ptx_sreg_tid_x(); }
METAL_FUNC uint thread_index_in_threadgroup() { return __nvvm_read_ptx_sreg_tid_x(); }
METAL_FUNC uint threads_per_threadgroup() { return __nvvm_read_ptx_sreg_ntid_x(); }
METAL_FUNC uint thread_position_in_grid() { return threadgroup_position_in_grid() * threads_per_threadgroup() + thread_index_in_threadgroup(); }
METAL_FUNC uint threads_per_grid() { return threadgroups_per_grid() * threads_per_threadgroup(); }
METAL_FUNC uint thread_index_in_simdgroup() { return thread_index_in_threadgroup() % simd_width; }
METAL_FUNC uint simdgroup_index_in_threadgroup() { return thread_index_in_threadgroup() / simd_width; }
METAL_FUNC uint threads_per_simdgroup() { return simd_width; }
METAL_FUNC uint simdgroups_per_threadgroup() { return (threads_per_threadgroup() + simd_width - 1) / simd_width; }
}
}
