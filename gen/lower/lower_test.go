package lower_test

import (
	"flag"
	"os"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
)

var update = flag.Bool("update", false, "write the golden file")

// TestGolden holds the unfused program of a small model; testdata/small.txt is
// the place to see what lowering makes. go test -update rewrites it.
func TestGolden(t *testing.T) {
	s, err := spec.Load("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := lower.Lower(s, 1).String()
	const golden = "testdata/small.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the program differs from %s (-update rewrites it):\n%s", golden, got)
	}
}

// TestVerified checks that lowering makes a valid program of every model: one op per launch, and every weight
// of the table in use.
func TestVerified(t *testing.T) {
	for seed, s := range append(spectest.Varied(100), spectest.Hybrids(20)...) {
		p := lower.Lower(s, 1)
		if err := ir.Verify(p); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		used := map[int]int{}
		p.Ops(func(s *ir.Launch, _ *ir.Part, op *ir.Op) {
			if len(s.Parts) != 1 || len(s.Parts[0].Ops) != 1 {
				t.Errorf("seed %d: %s shares its launch", seed, op)
			}
			for _, w := range op.W {
				used[w.Row]++
			}
		})
		for i, row := range p.Weights {
			want := row.Layers()
			if row.Role == "embed_tokens" && p.Spec.Model.TieWordEmbeddings {
				want = 2 // the head reads it too
			}
			if used[i] != want {
				t.Errorf("seed %d: %d ops use %s, want %d", seed, used[i], row.Role, want)
			}
		}
	}
}
