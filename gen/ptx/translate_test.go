package ptx

import (
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// known returns one of two kernels.
func known(name string) (Kernel, bool) {
	switch name {
	case "k":
		return Kernel{Threads: 64, Constant: []bool{true}}, true
	case "beside":
		return Kernel{Threads: 64, Resident: 3}, true
	}
	return Kernel{}, false
}

func TestTranslate(t *testing.T) {
	for _, tt := range []struct{ name, metal, cuda string }{
		{"address spaces vanish", "static inline float f(device const float * a, threadgroup half * b, thread uint & c) {}",
			"static METAL_FUNC float f( const float * a,  half * b,  uint & c) {}"},
		{"constant parameter", "static inline float f(constant Step & s) {}", "static METAL_FUNC float f(const Step & s) {}"},
		{"table", "constant float t[2] = {1.0f, 2.0f};", "static __attribute__((device)) float t[2] = {1.0f, 2.0f};"},
		{"constant", "constant uint n = 3u;", "static constexpr uint n = 3u;"},
		{"a pragma that clang has under its own name", "#pragma METAL fp contract(off)\n// #pragma METAL fp\n", "#pragma clang fp contract(off)\n// #pragma METAL fp\n"},
		{"a namespace is no function", "namespace n {\nconstant float t[2] = {1.0f, 2.0f};\n} constant uint u = 3u;",
			"namespace n {\nstatic __attribute__((device)) float t[2] = {1.0f, 2.0f};\n} static constexpr uint u = 3u;"},
		{"qualified types", "kernel void k(device n::T * a [[buffer(0)]], constant n::U & b [[buffer(1)]]) {}",
			`extern "C" __attribute__((global, launch_bounds(64))) void k(n :: T * __restrict__ a, const n :: U & b) {}`},
		{"half literals", "half a = 1.0h + .5h + 2e-3h; uint h = 0x1h;", "half a = 1.0f16 + .5f16 + 2e-3f16; uint h = 0x1h;"},
		{"vectors", "float4 v = float4(a, b); const half2 u = *(device const half2 *)(p);",
			"float4 v = make<float4>(a, b); const half2 u = *( const half2 *)(p);"},
		{"comments stay", "// device float\n/* thread\n */ #define device2 1\n", "// device float\n/* thread\n */ #define device2 1\n"},
		{"other words stay", "mem_flags::mem_device, thread_scope_device, threadgroups", "mem_flags::mem_device, thread_scope_device, threadgroups"},
		{"kernel", "kernel void k(device const uchar * w [[buffer(0)]], device float * y [[buffer(1)]],\n  constant Step & s [[buffer(2)]],\n" +
			"  uint tg [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {\n  threadgroup float a[4], b[2][3];\n}",
			`extern "C" __attribute__((global, launch_bounds(64))) void k(const uchar * __restrict__ w, float * y, const Step & s) {` +
				" const uint tg(metal::position::threadgroup_position_in_grid()); const ushort lane(metal::position::thread_index_in_simdgroup());\n\n\n" +
				"  static __attribute__((shared, aligned(16))) float a[4], b[2][3];\n}"},
		{"parameters in the order of their buffers", "kernel void k(device float * b [[buffer(1)]], device float * a [[buffer(0)]]) {}",
			`extern "C" __attribute__((global, launch_bounds(64))) void k(float * __restrict__ a, float * b) {}`},
		{"side by side", "kernel void beside(device float * a [[buffer(0)]]) {}",
			`extern "C" __attribute__((global, launch_bounds(64, 3))) void beside(float * a) {}`},
		{"another bundle's kernel", "int a;\nkernel void other(device float * a [[buffer(0)]]) {\n  if (a) {\n  } // }\n}\nconstant uint n = 3u;", "int a;\n\n\n\n\nstatic constexpr uint n = 3u;"},
		{"how many threads a threadgroup has", "[[max_total_threads_per_threadgroup(64)]]\nkernel void k(device float * a [[buffer(0)]]) {}",
			"\n" + `extern "C" __attribute__((global, launch_bounds(64))) void k(float * __restrict__ a) {}`},
		{"pointer to threadgroup memory", "kernel void k(device float * a [[buffer(0)]]) { threadgroup float t[2]; threadgroup float * p = t; }",
			`extern "C" __attribute__((global, launch_bounds(64))) void k(float * __restrict__ a) { static __attribute__((shared, aligned(16))) float t[2];  float * p = t; }`},
	} {
		got, err := Translate(tt.metal, known)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if want := "#include <metal_stdlib>\n#line 1 \"kernels.metal\"\n" + tt.cuda; got != want {
			t.Errorf("%s:\n%s\nis translated to\n%s\nwant\n%s", tt.name, tt.metal, got, want)
		}
	}
}

func TestTranslateRefuses(t *testing.T) {
	for _, tt := range []struct{ metal, says string }{
		{"\nkernel void other(device float * a [[buffer(0)]]) { if (a) {", "kernels.metal:2: kernel other: no end"},
		{"\nkernel void other(device float * a) {}", "kernels.metal:2: kernel other: parameter a has no attribute"},
		{"kernel void k(device float * a) {}", "parameter a has no attribute"},
		{"kernel void k(device float * a [[buffer(31)]]) {}", "buffer(31) is none of 0 to 30"},
		{"kernel void k(device float * a [[buffer(n)]]) {}", "buffer(n) is none"},
		{"kernel void k(device float * a [[buffer(0)]], device float * b [[buffer(0)]]) {}", "buffer(0) twice"},
		{"kernel void k(device float * a [[buffer(1)]]) {}", "no buffer(0)"},
		{"kernel void k(float a [[buffer(0)]]) {}", "float a is no pointer"},
		{"kernel void k(device float * a [[buffer(0)]]);", "no body"},
		{"kernel void k(device float * a [[buffer(0)]]", "no )"},
		{"kernel [[max_total_threads_per_threadgroup(64)]] void k() {}", "attributes"},
		{"kernel uint k() {}", "expected kernel void"},
		{"kernel", "expected kernel void"},
	} {
		if _, err := Translate(tt.metal, known); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", tt.metal, err, tt.says)
		}
	}
}

// FuzzTranslate: no source brings it down.
func FuzzTranslate(f *testing.F) {
	f.Add("kernel void k(device float * a [[buffer(0)]]) { threadgroup float t[2]; }")
	f.Add("kernel void k((")
	f.Fuzz(func(t *testing.T, source string) {
		Translate(source, known)
	})
}

func TestResident(t *testing.T) {
	for _, tt := range []struct {
		width, groups, threads, tokens, want int
		weights                              []quant.Type
	}{
		{0, 1, 128, 0, 1, nil}, {0, 132, 128, 0, 1, nil}, {0, 133, 128, 0, 2, nil}, {0, 1056, 128, 0, 8, nil}, {0, 528, 256, 0, 4, nil}, // 64 registers a thread
		{0, 1057, 128, 0, 0, nil}, {0, 529, 256, 0, 0, nil}, {0, 100000, 32, 0, 0, nil},
		{2, 500, 128, 2, 4, nil}, {2, 1056, 128, 2, 8, nil}, {2, 1057, 128, 2, 5, nil}, {4, 768, 128, 4, 6, nil}, {4, 100000, 256, 4, 2, nil}, // the inputs of all rows
		{2, 66, 256, 0, 1, nil}, {4, 66, 256, 0, 2, nil}, {4, 400, 128, 0, 4, nil}, {2, 924, 128, 0, 7, nil}, // threadgroups for each row
		{16, 100, 128, 16, 1, nil}, {16, 265, 128, 16, 3, nil}, {512, 100, 128, 64, 3, nil}, {512, 100, 256, 64, 1, nil}, {512, 100, 128, 64, 2, []quant.Type{quant.F32, quant.Q4_0}},
	} {
		k := plan.Kernel{Width: tt.width, Threads: tt.threads, Parts: []plan.Part{&plan.MatVec{Product: plan.Product{Rows: tt.groups, RowsPerGroup: 1, Tokens: tt.tokens}, Batch: 1}}}
		if got := resident(&k, tt.weights); got != tt.want {
			t.Errorf("%d rows, %d threadgroups of %d, %d rows at a time: %d on each multiprocessor, want %d", tt.width, tt.groups, tt.threads, tt.tokens, got, tt.want)
		}
	}
	k := plan.Kernel{Width: 512, Threads: 128, Parts: []plan.Part{&plan.AttendHeads{NopeDim: 128, PeDim: 64, VDim: 128, RowsPerGroup: 64, SplitK: 1}}}
	if got := resident(&k, nil); got != 2 {
		t.Errorf("attention to heads: %d threadgroups on each multiprocessor, want 2", got)
	}
}
