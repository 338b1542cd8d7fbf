package gen_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// hybrid compiles a hybrid spec for one row, a batch and a prompt.
func hybrid(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "specs", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("hybrid.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHybrid checks that verify accepts the bundles of hybrid specs. For each row, every layer with linear
// attention must update its state once, and no other layer may have a state.
func TestHybrid(t *testing.T) {
	for _, name := range []string{"more/kimilinear", "more/ling3flash"} {
		b := hybrid(t, name)
		if err := verify.Bundle(b); err != nil {
			t.Error(err)
		}
		states := b.Model.State()
		for _, q := range b.Sequences {
			var layers []int
			for _, d := range q.Dispatches {
				for _, o := range d.Operands {
					if o.Space == plan.SpaceState {
						layers = append(layers, o.Index)
					}
				}
			}
			want := states.Layers
			if q.Width > b.BatchRows() { // a prompt uses each state twice: for the windows of tokens, then for the columns
				want = nil
				for _, i := range states.Layers {
					want = append(want, i, i)
				}
			}
			if !slices.Equal(layers, want) {
				t.Errorf("%s, %d rows: states of the layers %d; want %d", name, q.Width, layers, want)
			}
		}
	}
}

// hybridFile compiles the bundle of a model file of testdata for the widths of the tests.
func hybridFile(t *testing.T, path string) *plan.Bundle {
	t.Helper()
	return hybridOf(t, path, "")
}

// hybridOf is the same for a class of devices.
func hybridOf(t *testing.T, path, class string) *plan.Bundle {
	t.Helper()
	s := specOf(t, path).WithSequences(1, 4, 16, 512).WithClass(class)
	b, err := gen.Compile(s, nil)
	if err == nil {
		err = verify.Bundle(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// specOf returns the spec of a model file.
func specOf(t *testing.T, path string) *spec.Spec {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := initspec.Generate(f, "hybrid.yaml")
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("hybrid.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHybridLogits: the CPU device gives the reference logits of the hybrid files, in rows of any number together.
func TestHybridLogits(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		stem := filepath.Join("..", "testdata", "hybrid", name)
		b := hybridFile(t, stem+".gguf")
		e, err := opening.On(stem+".gguf", []*plan.Bundle{b}, "", cpu.New())
		if err != nil {
			t.Fatal(err)
		}
		for ref, every := range map[string]int{stem: 1, stem + ".long": 12} {
			for _, width := range []int{1, 3, 16, 512} {
				compareHybrid(t, e, ref, every, width)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// compareHybrid runs the prompt of a reference, which has the logits of rows at equal distances, width rows at a time.
func compareHybrid(t *testing.T, e *engine.Engine, stem string, every, width int) {
	t.Helper()
	tokens, err := reference.Tokens(stem + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	step := every // rows between two looks at the logits
	for step < width && step < len(tokens) {
		step += every
	}
	var cuts []int
	for n := step; n <= len(tokens); n += step {
		cuts = append(cuts, n)
	}
	compareCuts(t, e, stem, every, width, cuts)
}

// compareCuts runs the prompt of a reference up to each cut, width rows at a time, and compares the logits there if the
// reference has them. Sums of float32 in another order make the logits differ by up to 3e-5.
func compareCuts(t *testing.T, e *engine.Engine, stem string, every, width int, cuts []int) {
	t.Helper()
	tokens, err := reference.Tokens(stem + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	ref := &reference.Reference{}
	if ref.Logits, _, ref.Vocab, err = reference.Logits(stem + ".logits.npy"); err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(device.Config{Context: len(tokens), KV: quant.F32, Width: width, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for _, n := range cuts {
		if err := s.Sync(context.Background(), tokens[:n], nil); err != nil {
			t.Fatal(err)
		}
		if n%every == 0 {
			worst = max(worst, ref.Worst(s.Logits(), n/every-1))
		}
	}
	if t.Logf("%s, %d rows: %.2g", stem, width, worst); !(worst <= 1e-3) {
		t.Errorf("%s, %d rows at a time: logits differ by %.3g", stem, width, worst)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestHybridSessions: rows of several sessions in one replay touch the states of their own sessions alone, in whatever
// order they come, and a prompt goes on after the state that another session has left.
func TestHybridSessions(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		stem := filepath.Join("..", "testdata", "hybrid", name)
		e, err := opening.On(stem+".gguf", []*plan.Bundle{hybridFile(t, stem+".gguf")}, "", cpu.New())
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := reference.Tokens(stem + ".long.tokens")
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(device.Config{Context: len(tokens), KV: quant.F32, Width: 16, Tables: 4, Pages: 20, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		texts := [][]int32{tokens[:150], tokens[40:170], tokens[200:290], tokens[:140]}
		alone := make([][]float32, len(texts))
		for i, text := range texts {
			s, err := m.NewPrivateSession()
			if err == nil {
				err = s.Sync(context.Background(), text, nil)
			}
			alone[i] = slices.Clone(s.Logits())
			if err = errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
		}
		mixed(t, m, name, texts[:3], alone)
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Reuse(texts[3])
		if err == nil {
			err = s.Sync(context.Background(), texts[3], nil)
		}
		if err != nil || found != 128 || !(reference.Difference(s.Logits(), alone[3]) < 1e-4) {
			t.Errorf("%s: after %d tokens that were found, %v, logits differ by %.2g", name, found, err, reference.Difference(s.Logits(), alone[3]))
		}
		if err := errors.Join(m.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	}
}

// mixed runs texts in sessions of their own, rows of all in each replay.
func mixed(t *testing.T, m *engine.Model, name string, texts [][]int32, alone [][]float32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var sessions []*engine.Session
	for _, text := range texts {
		s, err := m.NewSession()
		if err == nil {
			_, err = s.Reuse(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	for left := true; left; {
		left = false
		var rows []engine.Row
		dealt := make([]int, len(texts))
		for range 12 {
			i := rng.IntN(len(texts))
			at := len(sessions[i].Tokens()) + dealt[i]
			if at < len(texts[i]) {
				rows = append(rows, engine.Row{Session: sessions[i], Token: texts[i][at], Logits: at == len(texts[i])-1})
				dealt[i]++
			}
		}
		err := m.Step(rows, func(first int, of [][]float32) {
			for i, logits := range of {
				session := slices.Index(sessions, rows[first+i].Session)
				if logits != nil && !(reference.Difference(logits, alone[session]) < 1e-4) {
					t.Errorf("%s, text %d: logits differ by %.2g from those alone", name, session, reference.Difference(logits, alone[session]))
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			left = left || len(sessions[i].Tokens()) < len(texts[i])
		}
	}
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHybridDamage checks that verify refuses plans that could access the states of other sessions than their
// rows'.
func TestHybridDamage(t *testing.T) {
	for what, damage := range map[string]struct {
		want string
		do   func(b *plan.Bundle, d *plan.DeltaHeads, o *plan.Operand)
	}{
		"slots closer together":     {"states of", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Slot-- }},
		"slots further apart":       {"states of", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Slot += 64 }},
		"more taps":                 {"the model has others", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Taps++ }},
		"more heads":                {"the model has others", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Heads *= 2 }},
		"layer with a cache":        {"no linear attention", func(b *plan.Bundle, _ *plan.DeltaHeads, o *plan.Operand) { o.Index = b.Model.CacheLayers()[0] }},
		"no layer":                  {"no linear attention", func(b *plan.Bundle, _ *plan.DeltaHeads, o *plan.Operand) { o.Index = -1 }},
		"another dispatch's state":  {"does not wait", func(b *plan.Bundle, _ *plan.DeltaHeads, o *plan.Operand) { b.Sequences[0].Dispatches = twice(b) }},
		"no such layers":            {"the model has others", func(b *plan.Bundle, _ *plan.DeltaHeads, _ *plan.Operand) { b.Model.Hybrid = nil }},
		"threadgroups at one state": {"threadgroups of a head", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Shares = 1 }},
		"huge states":               {"linear attention of", func(b *plan.Bundle, _ *plan.DeltaHeads, _ *plan.Operand) { b.Model.Hybrid.HeadDim = 1 << 20 }},
		"bound above zero":          {"a bound of", func(_ *plan.Bundle, d *plan.DeltaHeads, _ *plan.Operand) { d.Bound = 1 }},
	} {
		b := hybridFile(t, filepath.Join("..", "testdata", "hybrid", "bailingmoe3-mini-Q4_K_M.gguf"))
		for i := range b.Sequences[0].Dispatches {
			d := &b.Sequences[0].Dispatches[i]
			at := slices.IndexFunc(d.Operands, func(o plan.Operand) bool { return o.Space == plan.SpaceState })
			if at < 0 {
				continue
			}
			damage.do(b, b.Kernels[d.Kernel].Parts[0].(*plan.DeltaHeads), &d.Operands[at])
			break
		}
		if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), damage.want) {
			t.Errorf("%s: %v; want %q", what, err, damage.want)
		}
	}
}

// twice runs the first dispatch with a state a second time beside itself.
func twice(b *plan.Bundle) []plan.Dispatch {
	list := b.Sequences[0].Dispatches
	at := slices.IndexFunc(list, func(d plan.Dispatch) bool {
		return slices.ContainsFunc(d.Operands, func(o plan.Operand) bool { return o.Space == plan.SpaceState })
	})
	again := list[at]
	again.Barrier = false
	return slices.Insert(slices.Clone(list), at+1, again)
}
