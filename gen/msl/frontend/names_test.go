package frontend

import (
	"strings"
	"testing"
)

// TestNames checks that no declaration has the name of one of Apple's. Members and other names that are found
// only in their own scope may be named like a library function.
func TestNames(t *testing.T) {
	in := func(declarations string) string {
		return prefix + "namespace ours {\n" + declarations + "\n}\n" + kernel("a[0] = 1.0f;")
	}
	const library, language, compilers, macro = "%s is a name of Metal's library", "%s is a word of the language", "%s: names with two underscores", "the macro %s has a name of Metal's headers"
	for _, c := range []struct{ class, source, name, want string }{
		{"a helper like a function", in("static inline float clamp(float x) { return x; }"), "clamp", library},
		{"a helper like a function, declared", in("static inline float clamp(float x);"), "clamp", library},
		{"a helper outside of all namespaces", prefix + "static inline float fract(float x) { return x; }", "fract", library},
		{"a template like a trait", in("template <typename T>\nstatic inline uint rank(T x) { return 0u; }"), "rank", library},
		{"a helper like a function object", in("static inline bool less(float x, float y) { return x < y; }"), "less", library},
		{"a struct like a type", in("struct pair { float x, y; };"), "pair", library},
		{"a struct that is only declared", in("struct intersector;"), "intersector", library},
		{"an enumeration like a trait", in("enum extent : uint { ONE };"), "extent", library},
		{"a typedef like a vector", in("typedef float vec;"), "vec", library},
		{"a constant like a namespace", in("constant float fast = 1.0f;"), "fast", library},
		{"a table like an enumeration", in("constant float mem_flags[2] = {1.0f, 2.0f};"), "mem_flags", library},
		{"a namespace like one of theirs", prefix + "namespace metal {\n}\n" + kernel("a[0] = 1.0f;"), "metal", library},
		{"a kernel like a function", prefix + strings.Replace(kernel("a[0] = 1.0f;"), "void k(", "void step(", 1), "step", library},
		{"a kernel like an attribute", prefix + strings.Replace(kernel("a[0] = 1.0f;"), "void k(", "void position(", 1), "position", library},
		{"a name that begins like theirs", in("static inline float simd_total(float x) { return x; }"), "simd_total", library},
		{"a macro like a function", "#define saturate(x) (x)\n" + good, "saturate", macro},
		{"a macro like a macro", "  # define METAL_FUNC inline\n" + good, "METAL_FUNC", macro},
		{"a local name that is a word of the language", k("float vertex = a[0]; a[1] = vertex;"), "vertex", language},
		{"a member that is a word of the language", in("struct mine { float visible; };"), "visible", language},
		{"an argument that printers of shaders keep off", prefix + "kernel void k(device float * bias [[buffer(0)]]) { bias[0] = 1.0f; }", "bias", language},
		{"a template's parameter that is a macro", in("template <uint M_PI_F>\nstatic inline uint f() { return M_PI_F; }"), "M_PI_F", language},
		{"a local name that is a macro", k("float MAXFLOAT = a[0]; a[1] = MAXFLOAT;"), "MAXFLOAT", language},
		{"a word of later C++", k("float requires = a[0]; a[1] = requires;"), "requires", language},
		{"a name of the compiler's", k("float a__b = a[0]; a[1] = a__b;"), "a__b", compilers},
		{"a name that begins as the compiler's", k("float _A = a[0]; a[1] = _A;"), "_A", compilers},
		{"a name that begins as an operator does", k("float _Pragmas = a[0]; a[1] = _Pragmas;"), "_Pragmas", compilers},

		{"an operator of the language", k(`_Pragma("clang loop unroll(disable)") for (uint i = 0; i < 4u; i++) { a[i] = 1.0f; }`), "", ""},
		{"members and local names like functions", in("struct mine {\n  float min, dot;\n  static inline float step(float mix) { const float sign = mix; return sign; }\n};"), "", ""},
		{"names that only begin alike", in("static inline float clamped(float x) { return x; }\nconstant float ranks[1] = {1.0f};\ntemplate <typename T> struct half_pair { T x; };"), "", ""},
	} {
		var got []string
		for _, err := range Lint(c.source, 32768) {
			got = append(got, err.Error())
		}
		all := strings.Join(got, "\n")
		if want := strings.Replace(c.want, "%s", c.name, 1); want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s: Lint says %q; expected %q", c.class, all, want)
		}
	}
}
