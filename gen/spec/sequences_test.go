package spec_test

import (
	"testing"

	"mla/gen/spec"
	"mla/runtime/plan"
)

// TestBatchRows checks that a batch has as many rows as the widest sequence that the class of devices allows for
// batches, and at least plan.DefaultBatch. Classes may allow more rows for models with experts.
func TestBatchRows(t *testing.T) {
	for _, c := range []struct {
		spec, class string
		widths      []int // nil: the spec's sequences
		want        int
	}{
		{"deepseekv2lite", plan.ClassNVIDIA, nil, 32},
		{"glm47flash", plan.ClassNVIDIA, nil, 32},
		{"youtu2b", plan.ClassNVIDIA, nil, plan.DefaultBatch},
		{"deepseekv2lite", plan.ClassApple, nil, plan.DefaultBatch},
		{"dsv2litemini", plan.ClassNVIDIA, nil, plan.DefaultBatch},
		{"dsv2litemini", plan.ClassNVIDIA, []int{1, 8, 24, 40}, 24},
		{"dsv2litemini", plan.ClassNVIDIA, []int{1, 32, 64}, 32},
		{"dsv2litemini", plan.ClassNVIDIA, []int{1, 8}, plan.DefaultBatch},
		{"dsv2litemini", "", []int{1, 8, 24, 40}, plan.DefaultBatch},
		{"youtumini", plan.ClassNVIDIA, []int{1, 24}, plan.DefaultBatch},
	} {
		s, err := spec.Load("../../specs/" + c.spec + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s = s.WithClass(c.class)
		if c.widths != nil {
			s = s.WithSequences(c.widths...)
		}
		if got := s.BatchRows(); got != c.want {
			t.Errorf("%s of class %q with sequences %d: batches of %d rows; want %d", c.spec, c.class, s.Widths(), got, c.want)
		}
	}
}
