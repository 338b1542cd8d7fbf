//go:build deep

package ptx

import (
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// TestLinear compiles the kernels of linear attention at real shapes: one row, a batch and a prompt of Kimi-Linear, whose
// gates are of low rank, and of Ling-3.0-tiny. Nothing of the state may leave a thread's registers for local memory.
func TestLinear(t *testing.T) {
	for _, name := range []string{"more/kimilinear", "ling3tiny"} {
		s, err := spec.Load("../../specs/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Class = plan.ClassNVIDIA
		b, err := gen.Compile(s.WithSequences(1, 16, 512), nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Kernels = slices.DeleteFunc(b.Kernels, func(k plan.Kernel) bool { return plan.StateOf(k.Parts[0]) == nil })
		if len(b.Kernels) != 4 {
			t.Errorf("%s: %d kernels of linear attention; expected one for each width, and one more for prompts", name, len(b.Kernels))
		}
		for i := range b.Kernels {
			b.Kernels[i].Variants = b.Kernels[i].Variants[:1]
		}
		file, err := Build(b)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Text(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Sequences, b.Pick = nil, nil // they have kernels that this file has not
		checkEntries(t, ptxFile{bundle: b, text: text})
	}
}
