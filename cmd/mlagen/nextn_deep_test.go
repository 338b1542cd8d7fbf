//go:build deep

package main

import (
	"math"
	"slices"
	"testing"

	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// TestNextNDrafts chains drafts, each with the hidden state that the one before left.
func TestNextNDrafts(t *testing.T) {
	for _, model := range []string{combined, linear} {
		p := newPredictor(t, cpu.New(), cpu.New(), model, model, "f32")
		p.run(0, len(p.ref.Prompt)-1)
		p.drafts(t, model)
	}
}

// TestNextNInHalves: activations in halves change logits of a hybrid by less than 0.1, of a deviation of 4.
func TestNextNInHalves(t *testing.T) {
	p := newPredictor(t, cpu.New(), cpu.New(), linear, linear, "f16")
	if worst := p.run(0, len(p.ref.Prompt)-1); !(worst <= 0.1) {
		t.Errorf("logits differ by %g", worst)
	}
}

// TestNextNVerified checks that verify accepts the bundles of a model and its multi-token prediction layer,
// also after they were written to a file, and refuses operands of the host outside of the arena or of the
// weights.
func TestNextNVerified(t *testing.T) {
	for _, model := range []string{combined, linear} {
		verifyNextN(t, model)
	}
}

func verifyNextN(t *testing.T, file string) {
	t.Helper()
	both, _ := boundTo(t, file, file, "f16")
	fresh := func(i int) *plan.Bundle {
		text, err := planjson.Marshal([]*plan.Bundle{both[i].Bundle})
		if err != nil {
			t.Fatal(err)
		}
		list, err := planjson.Unmarshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	const model, layer = 0, 1
	for i := range both {
		if err := verify.Bundle(fresh(i)); err != nil {
			t.Error(err)
		}
	}
	for name, edit := range map[string]func(model, layer *plan.Bundle){
		"an input of a model":            func(m, l *plan.Bundle) { m.Decode().Input = l.Decode().Input },
		"no input":                       func(_, l *plan.Bundle) { l.Decode().Input = nil },
		"no input of several rows":       func(_, l *plan.Bundle) { l.Sequences[1].Input = nil },
		"an input in front of the arena": func(_, l *plan.Bundle) { l.Decode().Input.Offset = -16 },
		"an input that is not aligned":   func(_, l *plan.Bundle) { l.Decode().Input.Offset += 4 },
		"an input after the arena":       func(_, l *plan.Bundle) { l.Decode().Input.Offset = l.Decode().ArenaBytes },
		"rows after the arena":           func(_, l *plan.Bundle) { l.Sequences[2].Input.Stride <<= 12 },
		"an offset beyond any memory":    func(_, l *plan.Bundle) { l.Decode().Input.Offset = math.MaxInt64 &^ 15 },
		"a long input":                   func(_, l *plan.Bundle) { l.Decode().Input.Len++ },
		"an input of numbers of experts": func(_, l *plan.Bundle) { l.Decode().Input.Elem = plan.ElemRoute },
		"rows in one place":              func(_, l *plan.Bundle) { l.Sequences[1].Input.Stride = 16 },
		"one row of several":             func(_, l *plan.Bundle) { l.Decode().Input.Stride = 512 },
		"no hidden states of the layer":  func(_, l *plan.Bundle) { l.Sequences[1].Hidden = nil },
		"hidden states after the arena":  func(m, _ *plan.Bundle) { m.Decode().Hidden.Offset = m.Decode().ArenaBytes - 16 },
		"hidden states of halves":        func(m, _ *plan.Bundle) { m.Decode().Hidden.Elem = plan.ElemAct },
		"short hidden states":            func(m, _ *plan.Bundle) { m.Sequences[1].Hidden.Len = 16 },
		"nothing joined":                 func(_, l *plan.Bundle) { l.Joined = nil },
		"something joined to a model":    func(m, l *plan.Bundle) { m.Joined = l.Joined },
		"a small embedding":              func(_, l *plan.Bundle) { l.Joined[plan.JoinedEmbedding].Rows-- },
		"a narrow embedding":             func(_, l *plan.Bundle) { l.Joined[plan.JoinedEmbedding].Cols /= 2 },
		"a short norm":                   func(_, l *plan.Bundle) { l.Joined[plan.JoinedHNorm].Cols-- },
		"a norm of halves":               func(_, l *plan.Bundle) { l.Joined[plan.JoinedENorm].Types = []quant.Type{quant.F16} },
		"a norm of every layer":          func(_, l *plan.Bundle) { l.Joined[plan.JoinedENorm].First = 0 },
		"two layers":                     func(_, l *plan.Bundle) { l.Model.NumHiddenLayers = 2 },
		"a layer in front of all":        func(_, l *plan.Bundle) { l.Model.NextN = -1 },
	} {
		m, l := fresh(model), fresh(layer)
		edit(m, l)
		if verify.Bundle(m) == nil && verify.Bundle(l) == nil {
			t.Errorf("%s: %s is not refused", file, name)
		}
	}
}

// drafts predicts several tokens after the prompt, each from the one before.
func (p *predictor) drafts(t *testing.T, model string) {
	want, err := reference.Line(predictions[model].tokens, "draft")
	if err != nil || len(want) == 0 {
		t.Fatal(want, err)
	}
	last := len(p.ref.Prompt) - 1
	token, hidden := p.ref.Prompt[last], p.hidden[(last-1)*p.join.Dim():]
	var drafts []int32
	for pos := last; len(drafts) < len(want); pos++ {
		logits := p.predict(pos, []int32{token}, hidden)
		token = int32(slices.Index(logits, slices.Max(logits)))
		drafts = append(drafts, token)
		hidden = make([]float32, p.join.Dim())
		if err := p.layer.Hidden(hidden); err != nil {
			t.Fatal(err)
		}
		p.join.Own(hidden)
	}
	if !slices.Equal(drafts, want) {
		t.Errorf("drafts %d; expected %d", drafts, want)
	}
}
