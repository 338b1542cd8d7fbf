package ptx

import (
	"strings"
	"testing"

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

// TestKey: it follows the source, and is what Check compares.
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
