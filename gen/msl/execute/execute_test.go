package execute

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// bundle has one kernel k over one float buffer.
func bundle() *plan.Bundle {
	return &plan.Bundle{Kernels: []plan.Kernel{{
		Name: "k", Slots: []plan.Slot{{Name: "a", Elem: plan.ElemF32, Write: true}}, Variants: []plan.Variant{{Func: "k"}},
	}}}
}

// kernel wraps statements into k.
func kernel(statements string) string {
	return `#include <metal_stdlib>
using namespace metal;
kernel void k(device float * a [[buffer(0)]], uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
              ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float xs[128];
` + statements + "\n}\n"
}

// run runs k on 2 threadgroups of 64 threads.
func run(t *testing.T, statements string) ([]float32, error) {
	t.Helper()
	p, err := Build(bundle(), kernel(statements), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4*128)
	err = p.Run("k", 2, 64, [][]byte{buffer})
	out := make([]float32, 128)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(buffer[4*i:]))
	}
	return out, err
}

func TestThreadsMeet(t *testing.T) {
	out, err := run(t, `
  xs[tid] = float(tid);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = xs[63u - tid] + simd_sum(1.0f) + simd_max(float(lane)) + float(simd_min(lane));
  a[tg * 64u + tid] = v + simd_shuffle_xor(100.0f * float(tid), ushort(1)) + 10000.0f * float(sg);`)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		tid := i % 64
		if want := float32(63-tid+32+31) + 100*float32(tid^1) + 10000*float32(tid/32); v != want {
			t.Fatalf("thread %d: %v; expected %v", i, v, want)
		}
	}
}

// TestMemoryIsPoisoned wants a read before the first write to show.
func TestMemoryIsPoisoned(t *testing.T) {
	out, err := run(t, "a[tg * 64u + tid] = xs[tid];\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nxs[tid] = 1.0f;")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if v == v {
			t.Fatalf("thread %d read %v; expected NaN", i, v)
		}
	}
}

func TestThreadsThatMiss(t *testing.T) {
	for _, c := range []struct{ statements, want string }{
		{"if (tid < 8u) threadgroup_barrier(mem_flags::mem_threadgroup);\na[tid] = xs[0];", "not where the rest of its simdgroup is"},
		{"if (sg == 0) threadgroup_barrier(mem_flags::mem_threadgroup);\na[tid] = xs[0];", "not where the rest of its threadgroup is"},
		{"if (lane > 3) a[tid] = simd_sum(1.0f);\nelse a[tid] = xs[0];", "not where the rest of its simdgroup is"},
	} {
		if _, err := run(t, c.statements); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nruns with %v; expected %q", c.statements, err, c.want)
		}
	}
}
