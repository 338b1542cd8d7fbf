package lower_test

import (
	"math"
	"reflect"
	"testing"

	"mla/gen/initspec"
	"mla/gen/interp"
	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/tools/tests/deep"
)

const hybrids = "../../testdata/hybrid/"

// exact is how far logits may be from llama.cpp's, which are of deviation 4 and in float32; an independent program
// in float64 is 2.5e-5 off.
const exact = 5e-5

// open makes a spec of a model file, and decodes its weights.
func open(t *testing.T, name string) (*spec.Spec, *spectest.File) {
	t.Helper()
	f, err := gguf.Open(hybrids + name + ".gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := initspec.Generate(f, "hybrid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("hybrid.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := spectest.Read(f, s)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// TestHybrids: the formulas of linear attention give the logits of llama.cpp, a token at a time.
func TestHybrids(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		s, w := open(t, name)
		m := interp.New(lower.Lower(s, 1), w)
		ref, err := reference.ReadPath(hybrids + name)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, name, m, ref.Prompt, ref, 1)
		if deep.On {
			long := *ref
			stem := hybrids + name + ".long"
			if long.Prompt, err = reference.Tokens(stem + ".tokens"); err != nil {
				t.Fatal(err)
			}
			if long.Logits, _, long.Vocab, err = reference.Logits(stem + ".logits.npy"); err != nil {
				t.Fatal(err)
			}
			compare(t, stem, interp.New(lower.Lower(s, 1), w), long.Prompt, &long, longEvery)
		}
	}
}

// longEvery says which rows files of long logits have: every twelfth, the last of twelve.
const longEvery = 12

// compare runs tokens. ref has the logits of every n-th.
func compare(t *testing.T, name string, m *interp.Machine, tokens []int32, ref *reference.Reference, n int) {
	t.Helper()
	worst := 0.0
	for i, token := range tokens {
		got, err := m.Step(int(token))
		if err != nil {
			t.Fatal(err)
		}
		if i%n != n-1 {
			continue
		}
		logits := make([]float32, len(got))
		for j, x := range got {
			logits[j] = float32(x)
		}
		if off := ref.Worst(logits, i/n); !(off <= worst) {
			worst = off
		}
	}
	t.Logf("%s: %d tokens, off by %g", name, len(tokens), worst)
	if !(worst <= exact) {
		t.Errorf("%s: logits are off by %g; at most %g is allowed", name, worst, exact)
	}
}

// TestStates compares the size of a session's recurrent states with published numbers, in MiB of float32.
func TestStates(t *testing.T) {
	for name, want := range map[string]float64{"more/kimilinear": 42.81, "ling3tiny": 19.27, "more/ling3flash": 74.92} {
		s, err := spec.Load("../../specs/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		states := map[*ir.Value]int{}
		lower.Lower(s, 1).Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
			if op.State != nil {
				states[op.State] = op.State.Len
			}
		})
		bytes := 0
		for _, n := range states {
			bytes += 4 * n
		}
		if got := float64(bytes) / (1 << 20); math.Abs(got-want) > 0.005 || len(states) != 4*len(s.Layers(true)) {
			t.Errorf("%s: %d states of %.2f MiB; want %.2f", name, len(states), got, want)
		}
	}
}

// TestLimits checks that experts get the limits of Limits, and that shared experts and dense layers get the limits
// of SharedLimits.
func TestLimits(t *testing.T) {
	s, _ := open(t, "bailingmoe3-mini-Q4_K_M")
	s.Hybrid.Limits, s.Hybrid.SharedLimits = []float64{0, 0, 0.7, 0.5}, []float64{0.3, 0.2, 0.9, 0.8}
	got := map[string][]float64{}
	lower.Lower(s, 1).Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		if op.Kind == ir.SwiGLU {
			got[op.Name] = append(got[op.Name], op.Limit)
		}
	})
	want := map[string][]float64{"swiglu": {0.3, 0.2}, "experts_swiglu": {0.7, 0.5}, "shared_swiglu": {0.9, 0.8}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("limits %v; expected %v", got, want)
	}
}
