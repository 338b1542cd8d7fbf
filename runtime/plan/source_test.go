package plan

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestSourceSum checks that the sum is that of the text that a device gets, or the stored sum if there is no
// text.
func TestSourceSum(t *testing.T) {
	const text, kept = "kernel void f();\n", "0123"
	sum := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	for _, tt := range []struct {
		b    Bundle
		sum  string
		says string // of the source; "": it is there
	}{
		{Bundle{Source: text}, sum(text), ""},
		{Bundle{Source: text, Activations: ElemF16}, sum("#define MLA_ACT half\n" + text), ""},
		{Bundle{Source: text, SourceHash: kept}, sum(text), ""},
		{Bundle{Name: "x", Class: ClassNVIDIA, SourceHash: kept}, kept, "bundle x has no Metal source: devices of class nvidia"},
		{Bundle{Name: "x", Class: ClassNVIDIA, SourceHash: kept, Activations: ElemF16}, kept, "bundle x has no Metal source"},
	} {
		if got := tt.b.SourceSum(); got != tt.sum {
			t.Errorf("%+v: %s; want %s", tt.b, got, tt.sum)
		}
		if err := tt.b.HasSource(); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v; want %q", tt.b, err, tt.says)
		}
	}
}
