package explain_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/explain"
	"mla/gen/spec"
)

func kernels(t *testing.T, path, class string) []explain.Kernel {
	t.Helper()
	s, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithClass(class)
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := explain.Make(s, b)
	if err != nil {
		t.Fatal(err)
	}
	dispatches := len(b.Decode().Dispatches)
	for _, q := range b.Batches() {
		dispatches += len(q.Dispatches)
	}
	for _, k := range list {
		dispatches -= len(k.Layers)
	}
	if dispatches != 0 {
		t.Errorf("%d dispatches are not explained", dispatches)
	}
	return list
}

// find is the text about one kernel.
func find(t *testing.T, list []explain.Kernel, name string) (k explain.Kernel, text string) {
	t.Helper()
	i := slices.IndexFunc(list, func(k explain.Kernel) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no kernel %s", name)
	}
	var b strings.Builder
	if err := explain.Print(&b, list[i:i+1]); err != nil {
		t.Fatal(err)
	}
	return list[i], b.String()
}

// TestExplain: passes, notes, shapes with their reasons, and barriers of the small model,
// whose lowered and compiled forms are in gen/lower/testdata and gen/pass/testdata.
func TestExplain(t *testing.T) {
	list := kernels(t, "../lower/testdata/small.yaml", "")
	for name, want := range map[string][]string{
		"embed":        {"  runs     once a replay of one row, outside the layers\n", "norm_partial: it writes x·w", "  waits    for nothing\n"},
		"q_a_kv_a":     {"merge_qkv_a: ", "in the layers 0-1\n", "it reads ready, which embed writes"},
		"q_b_store_kv": {"fuse_store_kv: ", "fuse_rope: ", "merge_store_kv: ", "it reads ready, which q_a_kv_a writes"},
		"attend":       {"absorb: move W_UK", "split_kv: the cache is cut into at most 4 splits of whole tiles of 2 rows", "tuning.attention: splits 4, tile 2", "64 latent elements and 16 of the rotated key, for all 2 heads"},
		"v_b":          {"fuse_combine: ", "it reads attend_out, which attend writes"},
		"lm_head":      {"outside the layers", "the default for this number of results (96, of 64 inputs each)"},
		"attend_x16":   {"a replay of up to 16 rows", "split_kv: several rows attend side by side"},
		"o_proj_x16":   {"so few rows wait for the weights"},
	} {
		_, text := find(t, list, name)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is missing:\n%s", name, w, text)
			}
		}
	}
	// What one pass has made alone is not put down to others.
	if k, _ := find(t, list, "k_b"); len(k.Passes) != 1 || !strings.HasPrefix(k.Passes[0], "absorb: ") {
		t.Errorf("k_b is of %q", k.Passes)
	}
	if k, _ := find(t, list, "embed"); len(k.Passes) != 1 || !strings.HasPrefix(k.Passes[0], "norm_partial: ") {
		t.Errorf("embed is of %q", k.Passes)
	}
}

// TestExplainTuning: a shape of the spec's own is put down to its line.
func TestExplainTuning(t *testing.T) {
	const spec = "../../specs/youtu2b.yaml"
	const tuning, tuningNVIDIA = "../../specs/tuning/youtu2b.yaml", "../../specs/tuning/youtu2b.nvidia.yaml"
	for _, tt := range []struct{ class, kernel, says string }{
		{"", "v_b", fmt.Sprintf("simdgroups 8, split_k 1, unroll 4; line %d of youtu2b.yaml, under tuning", lineOf(t, tuning, "v_b:"))},
		{"nvidia", "o_proj", fmt.Sprintf("split_k 4, unroll 4; line %d of youtu2b.nvidia.yaml, under tuning", lineOf(t, tuningNVIDIA, "o_proj: {split_k: 4}"))},
		{"", "lm_head", "the default for this number of results"},
	} {
		if _, text := find(t, kernels(t, spec, tt.class), tt.kernel); !strings.Contains(text, tt.says) {
			t.Errorf("%s: %q is missing:\n%s", tt.kernel, tt.says, text)
		}
	}
}

// lineOf is the number of the first line of a file that has a text.
func lineOf(t *testing.T, path, text string) int {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(file), text)
	if !found {
		t.Fatalf("%s has no %q", path, text)
	}
	return 1 + strings.Count(before, "\n")
}
