package mark

import (
	"strings"
	"testing"
)

// TestSource marks one declaration of every kind. The expected mark is on the line before it, which begins
// with //:.
func TestSource(t *testing.T) {
	const marked = `// header

#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)

//: UNROLL
// What is said about a macro.
#ifndef UNROLL
#define UNROLL _Pragma("clang loop unroll(full)")
#endif

//: LOWER UPPER using pair
#ifndef LOWER
#define LOWER(a, b) pair((a) & 15u, \
                         (b) & 15u) // not a four
#define UPPER(a, b) pair((a) >> 4, (b) >> 4)
#endif
//:
#if __METAL_VERSION__ < 320
#error "pair is too old"
#endif

namespace mla {
//: act_t
typedef float act_t; // element; } of four
//: four
// pair is not used by a comment, nor "UNROLL".
struct four { float y[4]; };
//: eight
struct eight;
//: eight using four
struct eight { four low, high; };
//: pair
static inline half2 pair(half a, half b) {
  half2 v;
  v.x = a;
  return v;
}

//: load using UNROLL act_t
template <ushort N, typename X>
static inline void load(X x, thread act_t * y) { UNROLL for (ushort k = 0; k < N; ++k) { y[k] = x.pair + x->four; } }

//: load if four using four
static inline void load(four x) { x.y[0] = X::pair(1); X::template pair<2>(3); }
//: load if eight four using eight four pair
static inline void load(thread const eight & x, device four * y, half2 pair) { }

//: first using eight
static inline void first(eight x) { }
//: first using eight four
static inline void first(X four, eight) { }

//: sums using pair
template <uint N = 3>
struct sums {
  enum : uint { PASSES = N };
  static inline half2 run() { return mla::pair(1.0h, 2.0h); }
};

//: q4
struct q4 { };
//: q6_by
template <uint SHARE> struct q6_by { };
//: q6 using q6_by
typedef q6_by<8> q6;
//: preloaded using load
template <typename T, ushort N> struct preloaded { void f() { load<N>(); } };
//: preloaded if q4 using q4
template <ushort N> struct preloaded<q4, N> { q4 f; };
//: preloaded if q6_by using four q6_by
template <uint SHARE, ushort four> struct preloaded<q6_by<SHARE>, four> { };
//: alias using preloaded q4
using alias = preloaded<q4, 1>;
//: table using four
constant float table[2] = {1.0f, float(sizeof(four))};
//: BINS
constant uint BINS = 4;

//: MULTIPLY multiply scale products using act_t load pair
#ifndef MULTIPLY
#define MULTIPLY
static inline void multiply(act_t a) { pair(a, a); }
// One more.
template <uint N>
static inline void scale() { load<N>(); }
struct products { int n; };
#endif

//: embed_body using UNROLL alias
static inline void embed_body(thread alias * x) {
#if defined(UNROLL)
  x[0];
#endif
}
//:
} // namespace mla

//: embed_q4 using embed_body
kernel void embed_q4(
    device const uchar * w [[buffer(0)]],
    uint tg [[threadgroup_position_in_grid]]) {
  threadgroup float4 scratch[4];
  mla::embed_body(w);
}
`
	var plain strings.Builder
	for line := range strings.Lines(marked) {
		if !strings.HasPrefix(line, "//:") {
			plain.WriteString(line)
		}
	}
	got, err := Source(plain.String())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(marked, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is %q; expected %q\n%s", i+1, line, want[min(i, len(want)-1)], got)
		}
	}
	if got != marked {
		t.Error("the end is missing")
	}
	if _, err := Source(got); err == nil {
		t.Error("a source is marked twice")
	}
}

// TestRefused checks that a source which cannot be parsed gives an error instead of a wrong mark.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"struct a { a(int b) : c(b) {} int c; };\n":  "line 1: a constructor",
		"template <int N>\nstruct a {\n  a();\n};\n": "line 1: a constructor",
		"int a; /* b */\n":                           "line 1: a comment that is no line comment",
		"struct a { };  struct b { };\n":             "line 1: a declaration that does not begin its line",
		"\n int a; \n":                               "line 2: a declaration that does not begin its line",
		"[[max(1)]] ;\n":                             "what does this declare",
		"struct { int a; } ;\n":                      "what does this declare",
		"enum { A, B };\n":                           "what does this declare",
		"enum kinds { A, B };\n":                     "what does this declare",
		"template <> void f<1>(int a) { }\n":         "what does this declare",
		"static inline int operator+(a b) { }\n":     "what does this declare",
		"int f() {\n":                                "ends inside",
		"namespace a {\nint b;\n":                    "ends inside",
		"#if 1\nint b;\n":                            "ends inside",
		"#if 1\nint f() {\n#endif\n":                 "ends inside",
		";\n":                                        "what does this declare",
		"struct\n":                                   "ends inside",
		"}\n":                                        "ends inside",
		"template\n;":                                "what does this declare",
		"struct a;\n//: b\nstruct b;\n":              "line 2: a mark",
		"template <int N = (1 < 2)> struct a;\n":     "what does this declare",
	} {
		if got, err := Source(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, error %v; expected %q", text, got, err, want)
		}
	}
}
