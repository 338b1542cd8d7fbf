package ptx

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/generated"
)

// TestJoin: one head, all entries; declarations that differ are refused.
func TestJoin(t *testing.T) {
	const head = "// %\n//\n.version 7.8\n.target sm_90\n.address_size 64\n"
	a, b := "// made from a\n"+head+"\n.visible .entry a(\n)\n{\n}\n", "// made from b\n"+head+"\n\t// demoted\n.visible .entry b(\n)\n{\n}\n"
	for _, tt := range []struct {
		name        string
		texts       []string
		want, fails string
	}{
		{"one", []string{a}, a, ""},
		{"two", []string{a, b}, a + "\n.visible .entry b(\n)\n{\n}\n", ""},
		{"another target", []string{a, strings.Replace(b, "sm_90", "sm_100", 1)}, "", "other declarations"},
		{"a table", []string{a, strings.Replace(b, "\n.visible", "\n.global .u8 table[2];\n.visible", 1)}, "", "table[2]"},
		{"no entry", []string{a, head}, "", "without an entry"},
		{"none", nil, "", ""},
	} {
		got, err := Join(tt.texts)
		if tt.fails == "" && (err != nil || got != tt.want) || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// TestOwnKernels: of the source that a model shares with its multi-token prediction layer, each
// bundle's PTX is made of the bundle's kernels.
func TestOwnKernels(t *testing.T) {
	s, err := spec.Load("../../specs/more/glm47flashmtp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.WithSequences(1).OneSource() {
		b, err := gen.Compile(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		cuda, err := translate(b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`extern "C" __attribute__.* void (\w+)\(`).FindAllStringSubmatch(cuda, -1) {
			got = append(got, m[1])
		}
		want := b.Functions()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || strings.Count(b.Source, "\nkernel void ") <= len(want) || strings.Count(cuda, "\n") != strings.Count(b.Metal(), "\n")+2 {
			t.Errorf("%s: kernels are %s; expected %s, on the lines where they were", b.Name, got, want)
		}
	}
}

// TestKey checks that the key changes with the source, and that Check compares the key.
func TestKey(t *testing.T) {
	b := *generated.Bundles()[0]
	before, err := Key(&b)
	if err != nil || len(before) != 64 {
		t.Fatalf("%q, %v", before, err)
	}
	b.Source += "// more\n"
	after, err := Key(&b)
	if err != nil || after == before {
		t.Errorf("%q, %v", after, err)
	}
	b.Source += "kernel void unknown() {}"
	if got, err := Key(&b); err != nil || got != after {
		t.Errorf("with a kernel that the plan does not have: %q, %v", got, err)
	}
}
