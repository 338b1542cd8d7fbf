// Kernels for the tests of the simulator.
#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif

struct Args { uint n; float factor; };

// out[i] = in[i] * factor + 1
kernel void scale(device const float * in [[buffer(0)]], device float * out [[buffer(1)]], constant Args * args [[buffer(2)]],
                  uint g [[threadgroup_position_in_grid]], ushort t [[thread_index_in_threadgroup]]) {
  const uint i = g * 64u + uint(t);
  if (i < args[0].n) out[i] = in[i] * args[0].factor + 1.0f;
}

// out[g] = the sum of the g-th 64 elements; has no third argument
kernel void sum(device const float * in [[buffer(0)]], device float * out [[buffer(1)]],
                uint g [[threadgroup_position_in_grid]], ushort sg [[simdgroup_index_in_threadgroup]],
                ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float part[2];
  const float s = simd_sum(in[g * 64u + uint(sg) * 32u + uint(lane)]);
  if (lane == 0) part[sg] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0 && lane == 0) out[g] = part[0] + part[1];
}

// Stores args[0].n elements after the end that args name.
kernel void beyond(device const float * in [[buffer(0)]], device float * out [[buffer(1)]], constant Args * args [[buffer(2)]],
                   uint g [[threadgroup_position_in_grid]], ushort t [[thread_index_in_threadgroup]]) {
  const uint i = g * 64u + uint(t);
  out[args[0].n + i] = in[i];
}

// Loads 16 bytes at a time.
kernel void wide(device const float4 * in [[buffer(0)]], device float * out [[buffer(1)]], ushort t [[thread_index_in_threadgroup]]) {
  const float4 v = in[t];
  out[t] = v.x + v.y + v.z + v.w;
}

// Half of the threads miss the barrier.
kernel void divergent(device const float * in [[buffer(0)]], device float * out [[buffer(1)]], constant Args * args [[buffer(2)]],
                      uint g [[threadgroup_position_in_grid]], ushort t [[thread_index_in_threadgroup]]) {
  const uint i = g * 64u + uint(t);
  if (t < 32) threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = in[i] * args[0].factor;
}
