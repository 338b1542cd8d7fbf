package main

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/engine/nextn"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// The file with a multi-token prediction layer, that layer in a file of its own, and the logits of
// the layer: row i has the hidden state of position i and token i+1.
const (
	combined = models + "/glm47mtp-mini-Q4_K_M.gguf"
	alone    = models + "/nextn/mtp-glm47mtp-mini-Q4_K_M.gguf"
	trained  = "../../testdata/tinychat.gguf"
	linear   = "../../testdata/hybrid/bailingmoe3-mini-Q4_0.gguf"
)

// predictions are the tokens that were run with a model, and the logits of its layer.
var predictions = map[string]struct{ tokens, logits string }{
	combined: {models + "/nextn/glm47mtp-mini-Q4_K_M.tokens", models + "/nextn/glm47mtp-mini-Q4_K_M.logits.npy"},
	trained:  {"../../testdata/tinychat.tokens", "../../testdata/tinychat.nextn.logits.npy"},
	linear:   {"../../testdata/hybrid/bailingmoe3-mini-Q4_0.mtp.tokens", "../../testdata/hybrid/bailingmoe3-mini-Q4_0.mtp.logits.npy"},
}

// nextNTolerance is the tolerance with float32 caches. The results pass through three layers and two heads,
// with sums in another order than the reference.
const nextNTolerance = 1e-3

// TestNextN runs the model and the multi-token prediction layer, one row and several at a time, on
// the CPU device and on the executed Metal source, from both kinds of files.
func TestNextN(t *testing.T) {
	executor := newExecutor(t)
	for _, c := range []struct {
		device device.Device
		model  string
		layer  string
		width  int // rows at a time
		act    string
		within float64
	}{
		{cpu.New(), combined, combined, 1, "f32", nextNTolerance},
		{cpu.New(), combined, combined, 7, "f32", nextNTolerance},
		{cpu.New(), combined, alone, 32, "f32", nextNTolerance},
		{cpu.New(), combined, combined, 3, "f16", 0.05}, // activations in halves, as with a cache of halves
		{executor, combined, combined, 1, "f32", nextNTolerance},
		{executor, combined, alone, 16, "f32", nextNTolerance},
		{executor, combined, combined, 32, "f32", nextNTolerance},
		{cpu.New(), trained, trained, 32, "f32", nextNTolerance},
		{cpu.New(), linear, linear, 7, "f32", nextNTolerance},
		{executor, linear, linear, 3, "f32", nextNTolerance},
		{executor, linear, linear, 32, "f32", nextNTolerance},
		{executor, trained, trained, 16, "f32", nextNTolerance},
	} {
		if !deep.On && c.device == executor {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%d/%s", c.device.Name(), filepath.Base(c.layer), c.width, c.act), func(t *testing.T) {
			p := newPredictor(t, c.device, c.device, c.model, c.layer, c.act)
			worst := 0.0
			for first := 0; first < len(p.ref.Prompt)-1; first += c.width {
				n := min(c.width, len(p.ref.Prompt)-1-first)
				worst = max(worst, p.run(first, n))
			}
			t.Logf("logits within %.2g", worst)
			if !(worst <= c.within) {
				t.Errorf("logits differ by %g; at most %g is allowed", worst, c.within)
			}
		})
	}
}

// predictor is a model with its multi-token prediction layer, one session of each.
type predictor struct {
	*testing.T
	model, layer device.Vectored
	join         *nextn.Joiner
	ref          *reference.Reference // Prompt has one token more than Logits has rows
	hidden       []float32            // of the rows so far
}

func newPredictor(t *testing.T, d, own device.Device, model, file, act string) *predictor {
	trunk, _ := boundTo(t, model, model, act)
	layer, from := boundTo(t, model, file, act)
	p := &predictor{T: t, model: load(t, d, trunk[0]), layer: load(t, own, layer[1])}
	var err error
	if p.join, err = nextn.New(bind.Resolve(from), layer[1].Bundle); err != nil {
		t.Fatal(err)
	}
	tokens, err := reference.Tokens(predictions[model].tokens)
	if err != nil {
		t.Fatal(err)
	}
	logits, rows, vocab, err := reference.Logits(predictions[model].logits)
	if err != nil || rows != len(tokens)-1 {
		t.Fatalf("%d rows for %d tokens, %v", rows, len(tokens), err)
	}
	p.ref = &reference.Reference{Prompt: tokens, Logits: logits, Vocab: vocab}
	p.predict(0, tokens[:1], nil)
	return p
}

// run runs n rows of the model from the first on, then the layer's, a position further,
// and returns how far logits are off at most.
func (p *predictor) run(first, n int) (worst float64) {
	tokens := p.ref.Prompt[first : first+n+1]
	if _, err := p.model.Replay(rowsAt(first, tokens[:n]), nil); err != nil {
		p.Fatal(err)
	}
	hidden := make([]float32, n*p.join.Dim())
	if err := p.model.Hidden(hidden); err != nil {
		p.Fatal(err)
	}
	p.join.Model(hidden)
	p.hidden = append(p.hidden, hidden...)
	for from := 0; from < n; from += p.layer.Wanted(n) { // one replay has the logits of at most Wanted(n) rows
		logits := p.predict(first+1, tokens[1:], hidden, from)
		for i := range len(logits) / p.ref.Vocab {
			worst = max(worst, p.ref.Worst(logits[i*p.ref.Vocab:][:p.ref.Vocab], first+from+i))
		}
	}
	return worst
}

// predict runs rows of the layer; logits are those from a row on.
func (p *predictor) predict(pos int, tokens []int32, hidden []float32, from ...int) []float32 {
	p.Helper()
	d := p.join.Dim()
	in, before := make([]float32, 2*d*len(tokens)), make([][]float32, len(tokens))
	for i := range before {
		if hidden != nil {
			before[i] = hidden[i*d:][:d]
		}
	}
	if err := p.join.Inputs(in, tokens, before); err != nil {
		p.Fatal(err)
	}
	var wanted []int
	for i := append(from, 0)[0]; i < len(tokens) && len(wanted) < p.layer.Wanted(len(tokens)); i++ {
		wanted = append(wanted, i)
	}
	if err := p.layer.SetInput(in); err != nil {
		p.Fatal(err)
	}
	logits, err := p.layer.Replay(rowsAt(pos, tokens), wanted)
	if err != nil {
		p.Fatal(err)
	}
	for _, x := range logits {
		if math.IsNaN(float64(x)) {
			p.Fatal("NaN")
		}
	}
	return logits
}

func rowsAt(pos int, tokens []int32) (rows []plan.Row) {
	for i, token := range tokens {
		rows = append(rows, reference.Rows(token, pos+i)...)
	}
	return rows
}

func load(t *testing.T, d device.Device, m *device.Model) device.Vectored {
	r, err := device.LoadSingle(d, m, device.Config{Context: 64, KV: quant.F32, Width: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r.(device.Vectored)
}

// boundTo binds a file to the bundles that the header of a combined file asks for: the
// model's, where the file has it, and the layer's.
func boundTo(t *testing.T, header, file, act string) ([2]*device.Model, *gguf.File) {
	t.Helper()
	from, err := gguf.Open(header)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	text, err := initspec.Generate(from, "model.yaml", act)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("model.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	var list [2]*device.Model
	for i, v := range []*spec.Spec{s, s.NextNLayer()} {
		b, err := gen.Compile(v.WithSequences(1, 16, 32), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(bind.Resolve(f).Fit(b)) > 0 && i == 0 && file == alone {
			continue
		}
		if list[i], err = bind.Resolve(f).Bind(b); err != nil {
			t.Fatal(err)
		}
	}
	return list, f
}
