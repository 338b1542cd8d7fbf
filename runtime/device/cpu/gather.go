package cpu

import (
	"errors"

	"mla/runtime/plan"
)

var errNoPlace = errors.New("a row that is wanted has no place")

// ofWanted is the CPU kernel of a part that runs over the wanted rows.
type ofWanted struct{ kernel }

func (t ofWanted) run(w *worker, lo, hi int) {
	w.rows = w.wanted
	t.kernel.run(w, lo, hi)
	w.rows = w.all
}

// gather is the CPU kernel of plan.GatherVec. Wanted rows come in the order of their places, and move to the
// front one after the other: so no vector is overwritten before it has moved.
type gather struct {
	data         []byte // of all rows
	bytes, apart int    // bytes of a vector, and the distance between two
}

func bindGather(b *binder, p *plan.GatherVec) *gather {
	slot, at := b.slot(p.Vec, plan.SpaceArena)
	if slot == nil {
		return nil
	}
	size := 4
	if b.half(slot) {
		size = 2
	}
	t := &gather{data: b.memory(at), bytes: size * p.Dim, apart: size * slot.Stride}
	if b.err == nil && (slot.Stride < p.Dim || len(t.data) < b.command.Kernel.Width*t.apart) {
		b.fail("slot %s: %d bytes do not hold %d vectors of %d, %d apart", slot.Name, len(t.data), b.command.Kernel.Width, p.Dim, slot.Stride)
	}
	return t
}

func (t *gather) size() (units, cost int) { return 1, 2 * t.bytes }

func (t *gather) run(w *worker, _, _ int) {
	for i, r := range w.rows {
		from := int(r.Token) * t.apart
		if from > len(t.data)-t.bytes {
			w.fail(errNoPlace)
			return
		}
		copy(t.data[i*t.apart:][:t.bytes], t.data[from:])
	}
}
