package pieces

import (
	"strings"
	"testing"
)

const (
	listed = "//:\n//: k_a_b using a act_t b body\nkernel void k_a_b(\n  int x) {\n  mla::body<mla::a, mla::b, mla::a>(x);\n}\n\n" +
		"//: k_c_b using act_t b body c\nkernel void k_c_b(\n  int x) {\n  mla::body<mla::c, mla::b, mla::c>(x);\n}\n\n" +
		"//: k_b_b using act_t b body\nkernel void k_b_b(\n  int x) {\n  mla::body<mla::b, mla::b, mla::b>(x);\n}\n\n" +
		"//: lone using a\nkernel void lone() {\n  mla::a(1);\n}\n\n"
	macros = "//:\n//# variants using act_t b body\n#define VARIANT(NAME, A) \\\nkernel void NAME( \\\n  int x) { \\\n  mla::body<mla::A, mla::b, mla::A>(x); \\\n}\n" +
		"VARIANT(k_a_b, a)\nVARIANT(k_c_b, c)\nVARIANT(k_b_b, b)\n#undef VARIANT\n" +
		"//: lone using a\nkernel void lone() {\n  mla::a(1);\n}\n\n"
)

// TestVariants checks that variants become one macro, whose uses give the same variants again.
func TestVariants(t *testing.T) {
	if got := fold(listed); got != macros {
		t.Errorf("folded: %s\nexpected %s", got, macros)
	}
	var out strings.Builder
	if err := unfold(&out, macros); err != nil || out.String() != listed {
		t.Errorf("%v, %s\nexpected %s", err, out.String(), listed)
	}
}

// TestFoldLeaves checks that text which a macro cannot express does not change.
func TestFoldLeaves(t *testing.T) {
	for name, change := range map[string][2]string{
		"a comment":                   {"mla::body<mla::c", "// first\n  mla::body<mla::c"},
		"a number":                    {"(\n  int x) {\n  mla::body<mla::c", "(\n  int y) {\n  mla::body<mla::c"},
		"another length":              {"mla::b, mla::c>", "mla::b>"},
		"a name like the macro's":     {"int x", "int A"},
		"a specialisation":            {"k_c_b using", "k_c_b if a using"},
		"a mark out of order":         {"act_t b body c", "body act_t b c"},
		"a name that it does not use": {"act_t b body c", "act_t b body c d"},
	} {
		text := strings.Replace(strings.TrimSuffix(listed, listed[strings.Index(listed, "//: k_b_b"):]), change[0], change[1], 2)
		if got := fold(text); got != text {
			t.Errorf("%s: folded to %s", name, got)
		}
	}
}

// TestUnfoldRefuses breaks macros.
func TestUnfoldRefuses(t *testing.T) {
	for _, change := range [][2]string{{"#undef", "#undefine"}, {"#define", "#def"}, {"(k_c_b, c)", "(k_c_b)"}, {"\nVARIANT(", "\nVARIATION("}, {"A) \\\n", "A)\n"}} {
		text := strings.ReplaceAll(macros, change[0], change[1])
		if text == macros {
			t.Fatalf("no %q", change[0])
		}
		if err := unfold(&strings.Builder{}, text); err == nil || !strings.Contains(err.Error(), "expected") && !strings.Contains(err.Error(), "lack the line") {
			t.Errorf("%q: %v", change[1], err)
		}
	}
}

// TestUnfoldBounds checks the limit on size: a macro with a parameter at 2^18 places and an argument of 2^18
// bytes would make 64 GB.
func TestUnfoldBounds(t *testing.T) {
	const n = 1 << 18
	text := "//# variants using a\n#define VARIANT(NAME, A) \\\n" + strings.Repeat("A ", n) + "\nVARIANT(k, " + strings.Repeat("a", n) + ")\n#undef VARIANT\n"
	var out strings.Builder
	if err := unfold(&out, text); err == nil || out.Len() > maxWhole {
		t.Errorf("%d bytes, %v; expected an error", out.Len(), err)
	}
}
