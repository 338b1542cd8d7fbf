package quant

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	for typ, want := range map[Type]string{
		Q3_K: "Q3_K",
		31:   "Q4_0_4_4 (id 31: llama.cpp has given it up; files of Q4_0 and IQ4_NL took its place)",
		144:  "IQ4_KS (id 144: only ik_llama.cpp has it)",
		4:    "id 4, which this program does not know",
	} {
		if got := typ.Describe(); got != want {
			t.Errorf("%d is %q, want %q", typ, got, want)
		}
	}
	for typ := range foreign {
		if f, ok := Lookup(typ); ok {
			t.Errorf("%s is read", f.Name)
		}
	}
	if got := Readable(); !strings.HasPrefix(got, "F32, F16, Q4_0, ") || !strings.HasSuffix(got, ", Q1_0, Q2_0") {
		t.Errorf("types that can be read: %s", got)
	}
}
