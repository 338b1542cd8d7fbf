package cpu

import (
	"cmp"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// embed is the CPU kernel of plan.Embed. A row is so short that it is a single unit.
type embed struct {
	w       weight
	out     vec
	dim     int
	partial *normPartial
	scale   float32
}

func bindEmbed(b *binder, p *plan.Embed) *embed {
	return &embed{b.matrix(p.W, 1, b.model.Bundle.Model.VocabSize, p.Dim), b.vector(p.Out, 1, p.Dim), p.Dim, b.normPartial(p.NormPartial, p.Dim), float32(cmp.Or(p.Scale, 1))}
}

func (t *embed) size() (units, cost int) { return 1, 8 * t.dim }

func (t *embed) run(w *worker, _, _ int) {
	x := w.temp(t.dim)
	t.w.format.Dequantize(x, t.w.data[int(w.row.Token)*t.w.rowBytes:])
	if t.scale != 1 {
		linalg.Scale(x, t.scale)
	}
	t.out.write(0, x)
	if t.partial != nil {
		t.partial.apply(x, 0)
	}
}
