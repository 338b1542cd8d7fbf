package frontend

import (
	"strings"
	"testing"
)

const (
	prefix = "#include <metal_stdlib>\nusing namespace metal;" + pragma
	pragma = noContraction
)

// good is a kernel with all that the templates use.
const good = prefix + `
template <typename X>
static inline float first(X x) { return float(x[0]); }

struct format {
  template <ushort N, typename X>
  static inline void dot(device const uchar * w, X x, thread float * sum) {
    for (ushort r = 0; r < N; ++r) sum[r] = fma(float(*(device const half *)(w + r)), first(x), sum[r]);
  }
};

struct Step { uint pos; };
constant float values[2] = {1.0f, -1e30f};

template <typename F>
static inline void body(device const uchar * w, device half * out, constant Step & step, threadgroup float * xs, ushort lane) {
  xs[lane] = 1.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum[2] = {};
  F::template dot<2>(w, xs, sum);
  out[step.pos] = simd_sum(sum[0]) * values[1];
}

kernel void k(device const uchar * w [[buffer(0)]], device half * out [[buffer(1)]], constant Step & step [[buffer(2)]],
              ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float xs[32];
  body<format>(w, out, step, xs, lane);
}
`

func TestCheckAccepts(t *testing.T) {
	for _, source := range []string{good, needs + normPartial} {
		if err := Check(source, 32768); err != nil {
			t.Error(err)
		}
	}
}

// needs makes a source one of version 3.2.
const needs = "#if __METAL_VERSION__ < 320\n#error \"3.2\"\n#endif\n"

// normPartial hands a number to another threadgroup of the dispatch.
const normPartial = prefix + `
kernel void k(coherent(device) device float * a [[buffer(0)]], device atomic_uint * n [[buffer(1)]]) {
  a[0] = 1.0f;
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  atomic_fetch_add_explicit(n, 1u, memory_order_relaxed);
}
`

// TestCXX14 checks that features newer than C++14 are refused: MSL before version 4 is based on C++14.
func TestCXX14(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"if constexpr", k("if constexpr (sizeof(uint) == 4) a[0] = 1.0f;"), "constexpr if"},
		{"if with a declaration", k("if (uint i = n; i > 2u) a[0] = 1.0f;"), "if initialization statements"},
		{"switch with a declaration", k("switch (uint i = n; i) { default: a[0] = 1.0f; }"), "switch initialization statements"},
		{"structured bindings", prefix + "struct P { uint x, y; };\n" + kernel("P p = {1u, 2u}; auto [x, y] = p; a[0] = float(x + y);"), "decomposition declarations"},
		{"an inline variable", prefix + "inline constant uint u = 3u;\n" + kernel("a[u] = 1.0f;"), "inline variables"},
		{"a fold expression", prefix + "template <typename... A> static inline float total(A... v) { return (v + ...); }\n" + kernel("a[0] = total(1.0f, 2.0f);"), "fold expression"},
		{"a nested namespace", prefix + "namespace outer::inner { static inline float one() { return 1.0f; } }\n" + kernel("a[0] = outer::inner::one();"), "nested namespace definition"},
		{"an argument deduced for a class", prefix + "template <typename T> struct box { T v; box(T x) : v(x) {} };\n" + kernel("box b(1.0f); a[0] = b.v;"), "class template argument deduction"},
		{"a constexpr lambda", k("const auto one = [](uint x) constexpr { return x; }; a[0] = float(one(n));"), "constexpr on lambda"},
		{"a static_assert without a message", prefix + "static_assert(sizeof(uint) == 4);\n" + kernel("a[0] = 1.0f;"), "static_assert"},
		{"a template of any value", prefix + "template <auto N> static inline uint value() { return uint(N); }\n" + kernel("a[0] = float(value<3u>());"), "auto"},
		{"a using with two names", prefix + "namespace outer { struct P {}; struct Q {}; }\nusing outer::P, outer::Q;\n" + kernel("a[0] = 1.0f;"), "using"},
	} {
		if err := Check(c.source, 32768); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "before C++17") {
			t.Errorf("%s: Check says %v; expected %q", c.name, err, c.want)
		}
	}
}

// kernel is a kernel of a few statements.
func kernel(statements string) string {
	return "kernel void k(device float * a [[buffer(0)]], constant uint & n [[buffer(1)]]) {\n" + statements + "\n}\n"
}

// k is a source with such a kernel alone.
func k(statements string) string {
	return prefix + kernel(statements)
}

func TestCheckRejects(t *testing.T) {
	cases := []struct{ name, source, want string }{
		{"assignment across address spaces", k("thread float v = 1.0f; device float * p = &v; p[0] = a[0];"), "cannot initialize"},
		{"threadgroup pointer for a device one", prefix + "static inline float f(device float * p) { return p[0]; }\n" + "kernel void k(device float * a [[buffer(0)]]) { threadgroup float t[4]; a[0] = f(t); }", "no matching function"},
		{"write to constant", prefix + "kernel void k(constant float * a [[buffer(0)]]) { a[0] = 1.0f; }", "constant"},
		{"double variable", k("double d = 1.0f; a[0] = float(d);"), "double"},
		{"mutable global", prefix + "float g = 1.0f;\nkernel void k(device float * a [[buffer(0)]]) { a[0] = g; }", "constant address space"},
		{"threadgroup array in a helper", prefix + "static inline void f() { threadgroup float t[4]; t[0] = 1.0f; }\nkernel void k(device float * a [[buffer(0)]]) { f(); a[0] = 1.0f; }", "local"},
		{"ambiguous max", k("a[0] = max(a[0], 0);"), "no matching function"},
		{"unknown function", k("a[0] = tgamma(a[0]);"), "undeclared"},
		{"kernel with a result", prefix + "kernel float k(device float * a [[buffer(0)]]) { return a[0]; }", "void"},
		{"unused variable", k("float x = a[0];"), "unused variable"},
		{"syntax", k("a[0] = ;"), "expected expression"},

		{"a mistake in version 3.1", k("#if __METAL_VERSION__ < 320\na[0] = b;\n#endif\na[0] = 1.0f;"), "in version 3.1"},
		{"a mistake in version 3.2", k("#if __METAL_VERSION__ >= 320\na[0] = b;\n#endif\na[0] = 1.0f;"), "in version 3.2"},
		{"a pragma that clang does not know", prefix + "#pragma unwind\n", "unknown pragma"},
		{"a misspelt pragma", strings.Replace(good, "clang fp contract(off)", "clang fp contract(no)", 1), "unexpected argument 'no'"},
		{"a misspelt pragma of Metal", strings.Replace(good, "METAL fp contract(off)", "METAL fp kontract(off)", 1), "in version 3.2"},
		{"a pragma in the midst of a function", k("a[0] = 1.0f;\n#pragma METAL fp contract(off)\na[0] = 2.0f;"), "can only appear at file scope or at the start of a compound statement"},

		{"a fence in version 3.1", k("atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device); a[0] = 1.0f;"), "use of undeclared identifier 'memory_order_seq_cst'"},
		{"coherent memory in version 3.1", normPartial, "expected expression"},
		{"coherence lost", needs + prefix + "kernel void k(coherent(device) device float * a [[buffer(0)]]) { device float * p = a; p[0] = 1.0f; }", "cannot initialize"},
		{"a counter as an integer", needs + prefix + "kernel void k(device atomic_uint * n [[buffer(0)]]) { n[0] = 1u; }", "no viable overloaded '='"},

		{"double literal", k("a[0] = a[0] * 2.5;"), "double precision constant"},
		{"infinity", k("a[0] = INFINITY;"), "INFINITY"},
		{"unqualified pointer", k("float * p = a; p[0] = 1.0f;"), "no address space"},
	}
	for _, c := range cases {
		if err := Check(c.source, 32768); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check says %v; expected %q", c.name, err, c.want)
		}
	}
}

func TestLint(t *testing.T) {
	cases := []struct{ name, source, want string }{
		{"good", good, ""},
		{"float literals", k("a[0] = 1.5f + 1e30f + 0x1p-3f + 2.0h + .5f;"), ""},
		{"integers", k("a[0] = float(0x1e3 + 15u + 1);"), ""},
		{"literal in a comment", k("// 2.5 INFINITY float * p\na[0] = 1.0f; /* 3.5\n */"), ""},
		{"product of variables", k("uint b = n; a[0] = float(b * n);"), ""},
		{"double literal", k("a[0] = 2.5;"), "line 9: 2.5 is a double; write 2.5f"},
		{"double with exponent", k("a[0] = 1e3;"), "1e3 is a double"},
		{"hexadecimal double", k("a[0] = 0x1.8p3;"), "0x1.8p3 is a double"},
		{"double", k("double d;"), "double: MSL has no double"},
		{"infinity", k("a[0] = INFINITY;"), "INFINITY: masks are finite"},
		{"NaN", k("a[0] = NAN;"), "NAN: no kernel makes a NaN"},
		{"unqualified pointer parameter", prefix + "static inline float f(float * p) { return p[0]; }", "float * has no address space"},
		{"unqualified reference", prefix + "static inline void f(float & v) { v = 1.0f; }", "float & has no address space"},
		{"unqualified pointer to a struct", prefix + "struct S { uint n; };\nstatic inline uint f(S * p) { return p->n; }", "S * has no address space"},
		{"unqualified pointer to a type parameter", prefix + "template <typename T>\nstatic inline T f(T * p) { return p[0]; }", "T * has no address space"},
		{"unqualified cast", k("a[0] = *(float *)a;"), "float * has no address space"},
		{"second parameter unqualified", prefix + "static inline void f(device float * a, const float * b) { a[0] = b[0]; }", "float * has no address space"},
		{"no buffer index", prefix + "kernel void k(device float * a) { a[0] = 1.0f; }", "k: an argument without [[buffer(n)]]"},
		{"buffer twice", prefix + "kernel void k(device float * a [[buffer(0)]], device float * b [[buffer(0)]]) { a[0] = b[0]; }", "k: buffer 0 twice"},
		{"buffer 31", prefix + "kernel void k(device float * a [[buffer(31)]]) { a[0] = 1.0f; }", "k: buffer 31; expected at most 30"},
		{"threadgroup memory fits", k("threadgroup float t[4096]; threadgroup half u[8192]; t[0] = float(u[0]);"), ""},
		{"too much threadgroup memory", k("threadgroup float t[4096]; threadgroup half u[8193]; t[0] = float(u[0]);"), "32770 bytes of threadgroup memory"},
		{"threadgroup memory of unknown size", k("threadgroup float t[N]; t[0] = 1.0f;"), "threadgroup memory of unknown size"},
		{"return before a barrier", prefix + "static inline void f(uint i) {\n  if (i > 3u) return;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n}", "line 9: f: a return in a kernel or beside a barrier"},
		{"return from a kernel", k("if (n > 3u) return;"), "k: a return in a kernel"},
		{"recursion", prefix + "static inline uint f(uint i) { return i > 0u ? f(i - 1u) : 0u; }", "f calls itself"},
		{"recursion through another", prefix + "static inline uint g(uint i);\nstatic inline uint f(uint i) { return g(i); }\nstatic inline uint g(uint i) { return f(i); }", "g calls itself"},
		{"may be contracted", strings.Replace(good, pragma, "\n", 1), "expected #pragma METAL fp contract(off)"},
		{"may be contracted below 3.2", strings.Replace(good, pragma, "\n#pragma METAL fp contract(off)\n", 1), "expected #pragma METAL fp contract(off)"},
		{"may be contracted from 3.2 on", strings.Replace(good, pragma, "\n#pragma clang fp contract(off)\n", 1), "expected #pragma METAL fp contract(off)"},
		{"contracted before the pragma", strings.Replace(good, pragma, "\n", 1) + pragma, "expected #pragma METAL fp contract(off)"},
		{"contracted after the pragma", good + "#pragma METAL fp contract(fast)\n", "expected #pragma METAL fp contract(off)"},
		{"contracted in a function", k("#pragma clang fp contract(fast)\na[0] = 1.0f;"), "expected #pragma METAL fp contract(off)"},
		{"kernel calls kernel", k("a[0] = 1.0f;") + "kernel void m(device float * a [[buffer(0)]], constant uint & n [[buffer(1)]]) { k(a, n); }", "m calls the kernel k"},
	}
	for _, c := range cases {
		var got []string
		for _, err := range Lint(c.source, 32768) {
			got = append(got, err.Error())
		}
		all := strings.Join(got, "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: Lint says %q; expected %q", c.name, all, c.want)
		}
	}
}

// FuzzLint checks that the lint does not panic on any input.
func FuzzLint(f *testing.F) {
	f.Add(good)
	f.Add("kernel void k(((((")
	f.Add("threadgroup float t[")
	f.Add("typedef ; * &")
	f.Fuzz(func(t *testing.T, source string) { Lint(source, 32768) })
}
