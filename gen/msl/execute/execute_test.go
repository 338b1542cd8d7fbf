package execute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

const prelude = `#include <metal_stdlib>
using namespace metal;
static inline float both(float v) { threadgroup_barrier(mem_flags::mem_threadgroup); return simd_sum(v); }
`

// kernel is a source with the kernel k alone.
func kernel(statements string) string { return prelude + named("k", statements) }

// named wraps statements into a kernel with a device buffer of floats, one of
// constants and one of counters.
func named(name, statements string) string {
	return `kernel void ` + name + `(device float * a [[buffer(0)]], constant uint & n [[buffer(1)]], device atomic_uint * counter [[buffer(2)]],
              uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
              ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float xs[64];
` + statements + "\n}\n"
}

// groups and threads are the grid that run launches. A threadgroup writes one float per thread.
const groups, threads = 2, 64

// run runs k and returns the floats.
func run(t *testing.T, c Checks, statements string, change func(*Launch)) ([]float32, error) {
	t.Helper()
	p, err := Compile(kernel(statements), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return launch(t, p, change)
}

func launch(t *testing.T, p *Program, change func(*Launch)) ([]float32, error) {
	t.Helper()
	var args []Arg
	for _, size := range []int{4 * groups * threads, 4, 4} {
		b, err := p.NewBuffer(size)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, b.All())
	}
	binary.LittleEndian.PutUint32(args[1].Buffer.Bytes, groups*threads)
	l := Launch{Kernel: "k", Groups: groups, Threads: threads, Args: args}
	if change != nil {
		change(&l)
	}
	err := p.Run(l)
	out := make([]float32, groups*threads)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(args[0].Buffer.Bytes[4*i:]))
	}
	return out, err
}

func TestThreadsMeet(t *testing.T) {
	for _, c := range []Checks{Checked, Fast, Sanitized} {
		out, err := run(t, c, `
  xs[tid] = float(tid);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = xs[63u - tid] + simd_sum(1.0f) + simd_max(float(lane)) + float(simd_min(lane));
  a[tg * 64u + tid] = v + simd_shuffle_xor(100.0f * float(tid), ushort(1)) + 10000.0f * float(sg);`, nil)
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
}

func TestKernels(t *testing.T) {
	p, err := Compile(kernel("a[0] = 1.0f;"), Checked)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := Kernel{Name: "k", Buffers: 7, Constants: 2, Writable: 5, ThreadgroupBytes: 256, MaxThreads: 1024}
	if k := p.Kernels(); len(k) != 1 || k[0] != want {
		t.Errorf("kernels are %+v; expected %+v", k, want)
	}
}

// TestFaults breaks one rule per case. The statements before ok hold to it.
func TestFaults(t *testing.T) {
	cases := []struct{ name, statements, rule string }{
		{"good", "xs[tid] = 1.0f; both(1.0f); a[tg * 64u + tid] = xs[63u - tid];", ""},
		{"barrier in a branch", "if (tid < 32u) threadgroup_barrier(mem_flags::mem_threadgroup);", "barrier-divergence"},
		{"barrier in a branch, lanes", "if (tid < 8u) threadgroup_barrier(mem_flags::mem_threadgroup);", "barrier-divergence"},
		{"barriers in both branches", "if (tid < 32u) threadgroup_barrier(mem_flags::mem_threadgroup); else threadgroup_barrier(mem_flags::mem_threadgroup);", "barrier-divergence"},
		{"calls in both branches", "if (tid < 8u) a[tid] = both(1.0f); else a[tid] = both(1.0f);", "barrier-divergence"},
		{"barrier after return", "if (tid == 5u) return;\nthreadgroup_barrier(mem_flags::mem_none);", "barrier-divergence"},
		{"loop lengths", "for (uint i = 0; i < sg + 1u; ++i) threadgroup_barrier(mem_flags::mem_none);", "barrier-divergence"},
		{"simd_sum of some lanes", "if (lane > 3) a[tg * 64u + tid] = simd_sum(1.0f);", "simd-divergence"},
		{"simd functions in both branches", "a[tg * 64u + tid] = lane > 3 ? simd_sum(1.0f) : simd_sum(2.0f);", "simd-divergence"},
		{"load past the end", "float v = a[n - 64u + tid];\nv += a[n + tid];\na[tg * 64u + tid] = v;", "out-of-bounds"},
		{"copy past the end", "float own[8]; for (uint i = 0; i < 8u; ++i) own[i] = a[n - 4u + i];\nfor (uint i = 0; i < 8u; ++i) a[tg * 64u + tid] += own[(i + n) % 8u];", "out-of-bounds"},
		{"store past the end", "a[n] = 1.0f;", "out-of-bounds"},
		{"store before the start", "a[int(tid) - 1] = 1.0f;", "out-of-bounds"},
		{"past threadgroup memory", "xs[tid + (n - 127u)] = 1.0f;", "out-of-bounds"},
		{"before threadgroup memory", "xs[int(tid) - 1] = 1.0f;", "out-of-bounds"},
		{"wide load at half its size", "if (tg + tid == 0u) { const float4 w = *(device const float4 *)(a + 2); a[0] = w.x + w.y + w.z + w.w; }", "misaligned"},
		{"wide load at its size", "if (tg + tid == 0u) { const float4 w = *(device const float4 *)(a + 4); a[0] = w.x + w.y + w.z + w.w; }", ""},
		{"poison", "a[tg * 64u + tid] = xs[tid];", "uninitialised"},
		{"no barrier", "xs[tid] = 1.0f; a[tg * 64u + tid] = xs[max(tid, 1u) - 1u];", "threadgroup-race"},
		{"no barrier before reuse", "xs[tid] = 1.0f; both(1.0f); a[tg * 64u + tid] = xs[63u - tid]; xs[tid] = 2.0f;", "threadgroup-race"},
		{"barrier without the flag", "xs[tid] = 1.0f; threadgroup_barrier(mem_flags::mem_device); a[tg * 64u + tid] = xs[63u - tid];", "threadgroup-race"},
		{"barrier of the simdgroup", "xs[tid] = 1.0f; simdgroup_barrier(mem_flags::mem_threadgroup); a[tg * 64u + tid] = xs[tid % 32u];", "threadgroup-race"},
		{"simdgroup barrier is enough", "xs[tid] = 1.0f; simdgroup_barrier(mem_flags::mem_threadgroup); a[tg * 64u + tid] = xs[tid ^ 1u];", ""},
		{"same store", "xs[0] = 1.0f;", "threadgroup-race"},
		{"device memory without the flag", "a[tg * 64u + tid] = 1.0f; threadgroup_barrier(mem_flags::mem_threadgroup); xs[tid] = a[tg * 64u + 63u - tid];", "threadgroup-race"},
		{"device memory", "a[tg * 64u + tid] = 1.0f; threadgroup_barrier(mem_flags::mem_device); xs[tid] = a[tg * 64u + 63u - tid];", ""},
		{"load of another threadgroup's store", "if (tg == 0u) a[tid] = 1.0f; else xs[tid] = a[tid];", "device-race"},
		{"store of what another one loads", "if (tg == 1u) a[tid] = 1.0f; else xs[tid] = a[tid];", "device-race"},
		{"store of what another one stored", "a[tid] = 1.0f;", "store-conflict"},
		{"last arriver without fences", lastArriver("", ""), "device-race"},
		{"last arriver without a release", lastArriver("", fence), "device-race"},
		{"last arriver without an acquire", lastArriver(fence, ""), "device-race"},
		{"last arriver", lastArriver(fence, fence), ""},
		{"a counter that the last arriver resets", lastArriver(fence, fence) + "if (xs[0] == 1.0f && tid == 0u) ((device uint *)counter)[0] = 0u;", ""},
		{"only atomics", "if (tid == 0u) a[tg] = float(atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed));", ""},
		{"a load of what is counted", "if (tid == 0u) atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);\nif (tid == 0u && tg == 1u) a[tg] = float(((device uint *)counter)[0]);", "device-race"},
		{"counting what is loaded", "if (tid == 0u && tg == 0u) a[tg] = float(((device uint *)counter)[0]);\nif (tid == 0u && tg == 1u) atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);", "device-race"},
		{"a store to what is counted", "if (tid == 0u && tg == 1u) ((device uint *)counter)[0] = 1u;\nif (tid == 0u && tg == 0u) atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);", "device-race"},
		{"counting what is stored to", "if (tid == 0u && tg == 0u) ((device uint *)counter)[0] = 1u;\nif (tid == 0u && tg == 1u) atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);", "device-race"},
		{"a store to what is loaded atomically", "if (tid == 0u && tg == 1u) ((device uint *)counter)[0] = 1u;\nif (tid == 0u && tg == 0u) a[0] = float(atomic_load_explicit(counter, memory_order_relaxed));", "device-race"},
		{"loads of both kinds", "if (tid == 0u) a[tg] = tg == 0u ? float(((device uint *)counter)[0]) : float(atomic_load_explicit(counter, memory_order_relaxed));", ""},
	}
	source := prelude
	for i, c := range cases {
		source += named(fmt.Sprint("k", i), c.statements)
	}
	p, err := Compile(source, Checked)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := launch(t, p, func(l *Launch) { l.Kernel = fmt.Sprint("k", i) })
			wantFault(t, err, c.rule)
		})
	}
}

func wantFault(t *testing.T, err error, rule string) {
	t.Helper()
	var f *Fault
	switch {
	case rule == "" && err != nil:
		t.Errorf("%v; expected no fault", err)
	case rule != "" && (!errors.As(err, &f) || f.Rule != rule):
		t.Errorf("%v; expected %s", err, rule)
	}
}

const fence = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"

// lastArriver returns a kernel in which the threadgroup that arrives last sums what all threadgroups have
// stored.
func lastArriver(release, acquire string) string {
	return `
  a[tg * 64u + tid] = 1.0f;
  threadgroup_barrier(mem_flags::mem_device);
  if (tid == 0u) {
    ` + release + `
    xs[0] = float(atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed));
    ` + acquire + `
  }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  if (xs[0] == 1.0f && tid == 0u) {
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i) sum += a[i];
    a[0] = sum;
  }`
}

func TestStoreDelay(t *testing.T) {
	for _, c := range []struct {
		statements string
		want       float32
	}{{lastArriver(fence, fence), 128}, {lastArriver("", ""), 64}} {
		out, err := run(t, Checked, c.statements, func(l *Launch) { l.StoreDelay, l.Seed = true, 0 })
		var f *Fault
		if c.want == 128 && (err != nil || out[0] != c.want) {
			t.Errorf("sum %v, %v; expected %v", out[0], err, c.want)
		}
		// Without fences the last threadgroup sees only its own stores. Storing to the bytes of another one
		// is a conflict besides.
		if c.want == 64 && (!errors.As(err, &f) || f.Rule != "store-conflict") {
			t.Errorf("sum %v, %v; expected store-conflict", out[0], err)
		}
	}
	out, err := run(t, Checked, "a[tg * 64u + tid] = 1.0f + a[(tg * 64u + tid) ^ 64u];", func(l *Launch) { l.StoreDelay = true })
	if err != nil || out[0] != 1 || out[64] != 1 {
		t.Errorf("delayed: %v and %v, %v; expected old contents everywhere", out[0], out[64], err)
	}
}

// TestPositions reads every position of a thread that a kernel can ask for.
func TestPositions(t *testing.T) {
	source := prelude + `kernel void k(device float * a [[buffer(0)]], constant uint & n [[buffer(1)]], device atomic_uint * counter [[buffer(2)]],
    uint in_group [[thread_position_in_threadgroup]], uint in_grid [[thread_position_in_grid]], uint3 in_group3 [[thread_position_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]], uint threads [[threads_per_threadgroup]],
    uint all [[threads_per_grid]], uint simdgroups [[simdgroups_per_threadgroup]], uint width [[threads_per_simdgroup]]) {
  bool ok = in_grid == group * threads + in_group && in_group3.x == in_group && in_group3.y == 0u && groups == 2u && all == n && simdgroups == 2u && width == 32u;
  a[in_grid] = ok ? float(in_group) : -1.0f;
}
`
	p, err := Compile(source, Checked)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out, err := launch(t, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if v != float32(i%threads) {
			t.Fatalf("thread %d of the grid: %v; expected %d", i, v, i%threads)
		}
	}
}

// TestSeed checks that a seed changes the order of the threadgroups.
func TestSeed(t *testing.T) {
	p, err := Compile(kernel("if (tid == 0u) a[tg] = float(atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed));"), Checked)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	seen := map[[2]float32]bool{}
	for seed := range uint64(16) {
		out, err := launch(t, p, func(l *Launch) { l.Seed = seed })
		if err != nil {
			t.Fatal(err)
		}
		if seed == 0 && (out[0] != 0 || out[1] != 1) {
			t.Errorf("without a seed: threadgroups %v", out[:2])
		}
		seen[[2]float32(out[:2])] = true
	}
	if len(seen) != 2 {
		t.Errorf("orders %v; expected both", seen)
	}
}

func TestTouched(t *testing.T) {
	var touched []Range
	var args []Arg
	_, err := run(t, Checked, "if (tg == 1u) a[tid] = float(n); else xs[tid] = a[64u + tid / 2u];", func(l *Launch) { l.Touched, args = &touched, l.Args })
	want := []Range{{args[0].Buffer, 256, 128, false}, {args[1].Buffer, 0, 4, false}, {args[0].Buffer, 0, 256, true}}
	if err != nil || len(touched) != len(want) {
		t.Fatalf("touched %+v, %v", touched, err)
	}
	for _, w := range want {
		found := false
		for _, r := range touched {
			found = found || r == w
		}
		if !found {
			t.Errorf("touched %+v; %+v is missing", touched, w)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	p, err := Compile(kernel("a[0] = 1.0f;"), Fast)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, change := range []func(*Launch){
		func(l *Launch) { l.Threads = 1025 },
		func(l *Launch) { l.Threads = 0 },
		func(l *Launch) { l.Groups = 0 },
		func(l *Launch) { l.Args[1] = Arg{} },
		func(l *Launch) { l.StoreDelay = true },
		func(l *Launch) { l.Kernel = "other" },
	} {
		_, err := launch(t, p, change)
		wantFault(t, err, "launch")
	}
}

// TestCrash checks that an access to a guard page is reported, also in a build without checks.
func TestCrash(t *testing.T) {
	_, err := run(t, Fast, "a[n] = 1.0f;", nil)
	wantFault(t, err, "out-of-bounds")
}

func TestSanitized(t *testing.T) {
	for statements, want := range map[string]string{
		"a[n] = 1.0f;": "heap-buffer-overflow",
		"float own[4] = {}; own[n - 128u] = 1.0f; for (uint i = 0; i < 5u; ++i) a[tid] += own[i + n - 128u];": "out of bounds",
		"a[tid] = float(2147483647 + int(n));": "signed integer overflow",
	} {
		if _, err := run(t, Sanitized, statements, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v; expected %q", statements, err, want)
		}
	}
}

// TestCompileRefuses checks that a compile error has the reason and the line.
func TestCompileRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"kernel void k(device float * a) {}":                                               "no attribute",
		"kernel void k(device float * a [[buffer(31)]]) {}":                                "none of 0 to 30",
		"kernel void k(device float * a [[buffer(0)]], device float * b [[buffer(0)]]) {}": "twice",
		"kernel void k(uint x [[thread_position_on_moon]]) {}":                             "thread_position_on_moon",
		"\nstatic void f() { threadgroup float x[4]; }":                                    "kernels.metal:2: threadgroup memory",
		"kernel void k(device float * a [[buffer(0)]]) {\n\n  a[0] = missing; }":           "kernels.metal:3",
		"kernel void k(device float * a [[buffer(0)]]) { threadgroup float x[2], y[2]; }":  "one array per declaration",
		"kernel void k(device float * a [[buffer(0)]]":                                     "no ) for this (",
	} {
		p, err := Compile(source, Fast)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v; expected %q", source, err, want)
		}
	}
}
