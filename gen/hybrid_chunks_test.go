package gen_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// TestHybridChunks: by chunks the CPU device gives the reference logits wherever a prompt is cut: after a whole number of
// chunks, within one, and after pieces of a few rows, which go row by row. So it does by the kernels of class apple, whose
// prompts go row by row.
func TestHybridChunks(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		stem := filepath.Join("..", "testdata", "hybrid", name)
		b := hybridFile(t, stem+".gguf")
		if !slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool { _, ok := k.Parts[0].(*plan.DeltaFold); return ok }) {
			t.Fatalf("%s: no kernel moves a state on by chunks", name)
		}
		for _, b := range []*plan.Bundle{b, hybridOf(t, stem+".gguf", plan.ClassApple)} {
			e, err := opening.On(stem+".gguf", []*plan.Bundle{b}, "", cpu.New())
			if err != nil {
				t.Fatal(err)
			}
			for _, cuts := range [][]int{{300}, {48, 96, 144, 300}, {60, 84, 132, 300}, {3, 20, 36, 53, 156, 173, 192, 193, 300}} {
				compareCuts(t, e, stem+".long", 12, 512, cuts)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHybridChunkDamage: verify finds chunks and folds whose threads would not share a head evenly, or would touch other
// states than their rows'.
func TestHybridChunkDamage(t *testing.T) {
	path := filepath.Join("..", "testdata", "hybrid", "bailingmoe3-mini-Q4_K_M.gguf")
	for what, damage := range map[string]struct {
		want string
		do   func(chunks, fold *plan.Kernel, c *plan.DeltaChunks, f *plan.DeltaFold)
	}{
		"lanes that no head has keys for":    {"divide each other", func(_, _ *plan.Kernel, _ *plan.DeltaChunks, f *plan.DeltaFold) { f.Lanes *= 4 }},
		"fewer lanes":                        {"divide each other", func(_, _ *plan.Kernel, _ *plan.DeltaChunks, f *plan.DeltaFold) { f.Lanes /= 2 }},
		"columns beyond a head":              {"divide each other", func(_, _ *plan.Kernel, _ *plan.DeltaChunks, f *plan.DeltaFold) { f.Columns *= 4 }},
		"threads without a column":           {"divide each other", func(_, k *plan.Kernel, _ *plan.DeltaChunks, _ *plan.DeltaFold) { k.Threads *= 4 }},
		"slots closer to each other":         {"states of", func(_, _ *plan.Kernel, _ *plan.DeltaChunks, f *plan.DeltaFold) { f.Slot-- }},
		"more threadgroups than sessions":    {"threadgroups of a head", func(_, _ *plan.Kernel, _ *plan.DeltaChunks, f *plan.DeltaFold) { f.Shares = plan.MaxShares + 1 }},
		"channels that no thread has":        {"four for each column", func(k, _ *plan.Kernel, _ *plan.DeltaChunks, _ *plan.DeltaFold) { k.Threads /= 2 }},
		"more taps than the model's":         {"the model has others", func(_, _ *plan.Kernel, c *plan.DeltaChunks, _ *plan.DeltaFold) { c.Taps++ }},
		"a bound above zero":                 {"a bound of", func(_, _ *plan.Kernel, c *plan.DeltaChunks, _ *plan.DeltaFold) { c.Bound = 1 }},
		"chunks of more than a core's share": {"expected at most 128", func(_, _ *plan.Kernel, c *plan.DeltaChunks, _ *plan.DeltaFold) { c.Dim = 256 }},
	} {
		b := hybridFile(t, path)
		var chunks, fold *plan.Kernel
		for i := range b.Kernels {
			switch k := &b.Kernels[i]; k.Parts[0].(type) {
			case *plan.DeltaChunks:
				chunks = k
			case *plan.DeltaFold:
				fold = k
			}
		}
		damage.do(chunks, fold, chunks.Parts[0].(*plan.DeltaChunks), fold.Parts[0].(*plan.DeltaFold))
		if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), damage.want) {
			t.Errorf("%s: %v; want %q", what, err, damage.want)
		}
	}
}
