package gentest

import (
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
)

const specs = "../../specs"

// TestPrinted: every bundle has its source then, that which its hash is of; one that has it
// stays as it is.
func TestPrinted(t *testing.T) {
	printed := 0
	for _, b := range generated.Bundles() {
		got, err := Printed(specs, b)
		if err != nil {
			t.Fatal(err)
		}
		if got.HasSource() != nil || got.SourceHash != "" || got.SourceSum() != b.SourceSum() {
			t.Errorf("%s: %d bytes of source, hash %q", b.Name, len(got.Source), got.SourceHash)
		}
		kept := b.HasSource() == nil
		if kept != (got == b) || kept == (b.Class == plan.ClassNVIDIA) {
			t.Errorf("%s: its source is kept: %t", b.Name, kept)
		}
		if !kept {
			printed++
		}
	}
	if printed < 6 {
		t.Errorf("%d bundles without their source", printed)
	}
}

func TestPrintedRefuses(t *testing.T) {
	for _, tt := range []struct {
		b    plan.Bundle
		says string
	}{
		{plan.Bundle{Name: "tinyglm", Spec: "tinyglm.yaml", SourceHash: "0"}, "is of another source"},
		{plan.Bundle{Name: "other", Spec: "tinyglm.yaml", SourceHash: "0"}, "makes no bundle other"},
		{plan.Bundle{Name: "other", Spec: "other.yaml", SourceHash: "0"}, "other.yaml"},
	} {
		if _, err := Printed(specs, &tt.b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v; want %q", tt.b, err, tt.says)
		}
	}
}
