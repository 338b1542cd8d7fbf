package verify

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// checkVectors checks the vectors that the host writes before a sequence runs, or reads after it.
func checkVectors(b *plan.Bundle, q *plan.Sequence) error {
	if (q.Input != nil) != (b.Model.NextN > 0) {
		return fmt.Errorf("an input of the host's is what a layer that predicts has, and nothing else")
	}
	if b.Model.NextN > 0 && q.Hidden == nil {
		return fmt.Errorf("no hidden states for the draft after a draft")
	}
	for _, v := range []struct {
		what string
		*plan.Vectors
		length int
		elem   plan.Elem
	}{{"inputs", q.Input, 2 * b.Model.HiddenSize, plan.ElemAct}, {"hidden states", q.Hidden, b.Model.HiddenSize, plan.ElemF32}} {
		if v.Vectors == nil {
			continue
		}
		several := v.Stride > 0
		switch {
		case v.Len != v.length || v.Elem != v.elem:
			return fmt.Errorf("%s of %d elements of type %d; expected %d of type %d", v.what, v.Len, v.Elem, v.length, v.elem)
		case v.Stride < 0 || several != (q.Width > 1) || several && (v.Stride < v.Len || v.Stride > maxContext):
			return fmt.Errorf("%s of %d elements, %d apart", v.what, v.Len, v.Stride)
		case v.Offset < 0 || v.Offset%arenaAlign != 0 || v.Offset > q.ArenaBytes || v.Bytes(q.Width, b.Activations) > q.ArenaBytes-v.Offset:
			return fmt.Errorf("%s at %d do not fit an arena of %d bytes", v.what, v.Offset, q.ArenaBytes)
		}
	}
	return nil
}

// checkJoined checks the weights from which the host computes inputs.
func checkJoined(b *plan.Bundle) error {
	m := &b.Model
	if m.NextN < 0 || m.NextN > maxLayers || m.NextN > 0 && m.NumHiddenLayers != 1 {
		return fmt.Errorf("layer %d of files, of a bundle of %d layers", m.NextN, m.NumHiddenLayers)
	}
	want := 0
	if m.NextN > 0 {
		want = plan.JoinedCount
	}
	if len(b.Joined) != want {
		return fmt.Errorf("%d weights that the host joins; expected %d", len(b.Joined), want)
	}
	for i := range b.Joined {
		w := &b.Joined[i]
		if err := checkWeight(w, 0); err != nil {
			return err
		}
		rows := 1
		if i == plan.JoinedEmbedding {
			rows = m.VocabSize
		} else if len(w.Types) != 1 || w.Types[0] != quant.F32 {
			return fmt.Errorf("%.64s of %v; expected a vector of floats", w.Role, w.Types)
		}
		if w.Cols != m.HiddenSize || w.Rows != rows || w.Batch != 1 || w.First != -1 || w.Scale != 0 || w.RotaryRows != 0 {
			return fmt.Errorf("%.64s of %d × %d × %d; expected 1 × %d × %d as it is in the file", w.Role, w.Batch, w.Rows, w.Cols, rows, m.HiddenSize)
		}
	}
	return nil
}
