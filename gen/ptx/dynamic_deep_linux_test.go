//go:build deep

package ptx

import (
	"strings"
	"testing"

	"mla/runtime/plan/ptxfile"
)

// TestDynamicKernel compiles a kernel with 60 kB of threadgroup memory next to a small one, and checks that
// dynamic reads clang's declaration and leaves no size in it.
func TestDynamicKernel(t *testing.T) {
	const metal = `#include <metal_stdlib>
using namespace metal;
kernel void large(device float * a [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
  threadgroup float4 scratch[3840];
  for (uint i = tid; i < 3840u; i += 64u) scratch[i] = float4(a[i]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  a[tid] = scratch[3839u - tid].x;
}
kernel void small(device float * a [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
  threadgroup float4 scratch[3072];
  scratch[tid] = float4(a[tid]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  a[tid] = scratch[3071u - tid].x;
}
`
	cuda, err := Translate(metal, func(string) (Kernel, bool) { return Kernel{Threads: 64, Resident: 3}, true })
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := compile(cuda)
	if err != nil {
		t.Fatal(err)
	}
	text, err := dynamic(string(compiled))
	if err != nil {
		t.Fatal(err)
	}
	list := entries(t, text)
	if large, small := list["large"], list["small"]; large.dynamic != 61440 || large.shared != 0 || small.shared != 49152 || small.dynamic != 0 {
		t.Errorf("large has %d bytes with a size and %d without, small %d and %d", large.shared, large.dynamic, small.shared, small.dynamic)
	}
	_, after, _ := strings.Cut(text, ptxfile.DynamicLine(61440))
	declared, rest, _ := strings.Cut(after, "\n")
	name, _, _ := strings.Cut(strings.TrimPrefix(declared, ".extern .shared .align 16 .b8 "), "[];")
	if !strings.HasPrefix(rest, entryMark+"large(") || !strings.Contains(list["large"].body, name) {
		t.Errorf("%q stands above\n%.200s", declared, rest)
	}
}
