package device

import (
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Traffic is the bytes that a command has to read and write at least once when a token attends to rows cache
// rows: matrices (of experts the selected ones), cache rows and vectors. Repeated reads by several
// threadgroups do not count.
func (m *Model) Traffic(c *Command, kv quant.Type, rows int) int64 {
	t := &traffic{m.Bundle, c, kv, rows}
	var n int64
	for i := range c.Kernel.Slots {
		n += t.slot(i)
	}
	for _, p := range c.Kernel.Parts {
		for _, w := range plan.WeightsOf(p) {
			n += int64(float64(rowBytes(c.Bindings[w.Slot].Weight.Type, w.Cols)*int64(w.Needed)) * t.distinct(&w))
		}
	}
	return n
}

// traffic counts one command.
type traffic struct {
	bundle *plan.Bundle
	c      *Command
	kv     quant.Type
	rows   int
}

// distinct is the expected number of different experts that the rows of a kernel select, divided by the
// number of one row. It is 1 for a matrix that is no expert's, and for a single row.
func (t *traffic) distinct(w *plan.Use) float64 {
	k := w.Selected()
	if k == 0 {
		return 1
	}
	return t.bundle.Model.MoE.Distinct(k, t.c.Kernel.Width) / float64(k)
}

// slot is the bytes that a slot moves, matrices excepted.
func (t *traffic) slot(i int) int64 {
	s, op := &t.c.Kernel.Slots[i], &t.c.Dispatch.Operands[i]
	model := &t.bundle.Model
	switch s.Space {
	case plan.SpaceArena:
		if active, all := t.splits(i); all > 0 {
			return op.Bytes / int64(all) * int64(active)
		}
		return op.Bytes
	case plan.SpaceWeight:
		if s.Elem != plan.ElemTyped {
			return t.c.Bindings[i].Weight.Bytes
		}
	case plan.SpaceKV:
		row := rowBytes(t.kv, model.CacheDim())
		if s.Write {
			return row
		}
		return row * int64(t.rows)
	case plan.SpaceHeads:
		return t.bundle.HeadsElement() * int64(model.HeadsPage().Elements) * int64(plan.Pages(t.rows))
	case plan.SpaceState:
		return 2 * t.bundle.StateMoved(t.c.Kernel.Width)
	case plan.SpaceRope:
		return int64(model.QKRopeHeadDim) * 4
	case plan.SpaceLogits:
		return int64(model.VocabSize) * 4
	}
	return 0
}

// splits returns how many attention splits hold cache rows, and for how many slot i has memory; 0, 0 for
// other slots.
func (t *traffic) splits(i int) (active, all int) {
	if s := t.c.Kernel.SplitsAt(i); s != nil && s.Count > 0 {
		return s.Used(t.rows), s.Count
	}
	return 0, 0
}

func rowBytes(typ quant.Type, cols int) int64 {
	f, ok := quant.Lookup(typ)
	if !ok {
		return 0
	}
	return int64(cols) / int64(f.BlockElems) * int64(f.BlockBytes)
}
