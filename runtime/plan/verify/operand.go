package verify

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// elemBytes is the sizes of elements in bytes; that of ElemAct is the bundle's.
var elemBytes = map[plan.Elem]int64{plan.ElemF32: 4, plan.ElemF16: 2, plan.ElemRoute: 8, plan.ElemU32: 4, plan.ElemCounter: 4,
	plan.ElemPick: plan.PickBytes, plan.ElemAdjust: plan.AdjustBytes}

// operands checks dispatches against the memory of their sequence.
type operands struct {
	bundle  *plan.Bundle
	arena   int64
	width   int
	picking bool // the dispatches pick tokens
	head    bool // the dispatch belongs to the head
	reaches map[*plan.Kernel]*reach
}

// checkSequences checks all dispatches.
func checkSequences(b *plan.Bundle) error {
	o := &operands{bundle: b, reaches: map[*plan.Kernel]*reach{}}
	for i := range b.Kernels {
		r, err := reachOf(&b.Kernels[i], &b.Model)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", b.Kernels[i].Name, err)
		}
		o.reaches[&b.Kernels[i]] = r
	}
	if b.Decode().Width != 1 {
		return fmt.Errorf("%d sequences, the first of %d rows; expected one of one row", len(b.Sequences), b.Decode().Width)
	}
	if err := checkMaxBatch(b.MaxBatch); err != nil {
		return err
	}
	if n := b.MaxBatch; n != 0 && !slices.ContainsFunc(b.Sequences, func(q plan.Sequence) bool { return q.Width == n }) {
		return fmt.Errorf("batches of up to %d rows, and no sequence of as many", n)
	}
	width := 0
	for _, q := range b.Sequences {
		switch {
		case q.Width <= width || q.Width > plan.MaxWidth:
			return fmt.Errorf("a sequence of %d rows after one of %d; expected more, up to %d", q.Width, width, plan.MaxWidth)
		case q.ArenaBytes < 1 || q.ArenaBytes > maxMemory:
			return fmt.Errorf("an arena of %d bytes; expected 1 to %d", q.ArenaBytes, int64(maxMemory))
		case len(q.Dispatches) < 1 || len(q.Dispatches) > maxDispatches || q.Head < 0 || q.Head > len(q.Dispatches):
			return fmt.Errorf("%d dispatches, the head at %d", len(q.Dispatches), q.Head)
		}
		if err := checkVectors(b, &q); err != nil {
			return fmt.Errorf("sequence of %d rows: %w", q.Width, err)
		}
		width, o.width, o.arena = q.Width, q.Width, q.ArenaBytes
		if err := o.sequence(q.Dispatches, q.Head); err != nil {
			return fmt.Errorf("sequence of %d rows, %w", q.Width, err)
		}
	}
	if err := o.sampler(); err != nil {
		return fmt.Errorf("sampler, %w", err)
	}
	return nil
}

// sequence checks the operands of dispatches, and then their order.
func (o *operands) sequence(list []plan.Dispatch, head int) error {
	var f flow
	for i := range list {
		o.head = i >= head
		if err := o.dispatch(&list[i]); err != nil {
			return fmt.Errorf("dispatch %d: %w", i, err)
		}
		if err := f.step(o.kernels(list[i].Kernel), &list[i]); err != nil {
			return fmt.Errorf("dispatch %d, kernel %s: %w", i, o.bundle.Kernels[list[i].Kernel].Name, err)
		}
	}
	return nil
}

// dispatch checks one dispatch with its kernel, and with the kernels that replace it on classes of devices.
func (o *operands) dispatch(d *plan.Dispatch) error {
	b := o.bundle
	if d.Kernel < 0 || d.Kernel >= len(b.Kernels) || b.Kernels[d.Kernel].Class != "" {
		return fmt.Errorf("kernel %d of %d, or one of a class", d.Kernel, len(b.Kernels))
	}
	if d.Layer < -1 || d.Layer >= b.Model.NumHiddenLayers {
		return fmt.Errorf("layer %d of %d", d.Layer, b.Model.NumHiddenLayers)
	}
	for _, k := range o.kernels(d.Kernel) {
		if max(k.Width, 1) != o.rows(k) {
			return fmt.Errorf("kernel %s is for %d rows", k.Name, max(k.Width, 1))
		}
		if len(d.Operands) != len(k.Slots) {
			return fmt.Errorf("kernel %s: %d operands for %d slots", k.Name, len(d.Operands), len(k.Slots))
		}
		for s := range k.Slots {
			if err := o.operand(d, k, o.reaches[k], s); err != nil {
				return fmt.Errorf("kernel %s, slot %s: %w", k.Name, k.Slots[s].Name, err)
			}
		}
	}
	return nil
}

// kernels lists a kernel, and the kernels that replace it on classes of devices.
func (o *operands) kernels(i int) []*plan.Kernel {
	all := o.bundle.Kernels
	list := []*plan.Kernel{&all[i]}
	for j := range all {
		if all[j].Class != "" && all[j].Instead == i {
			list = append(list, &all[j])
		}
	}
	return list
}

// operand checks the operand of slot s.
func (o *operands) operand(d *plan.Dispatch, k *plan.Kernel, r *reach, s int) error {
	slot, op := &k.Slots[s], &d.Operands[s]
	if op.Space != slot.Space {
		return fmt.Errorf("operand in space %d; expected %d", op.Space, slot.Space)
	}
	if op.Space == plan.SpaceRow && slot.Write && !o.picking {
		return fmt.Errorf("only what picks tokens writes rows")
	}
	if op.Space == plan.SpacePick && !o.picking {
		return fmt.Errorf("only what picks tokens has that memory")
	}
	need, err := o.bytes(k, r, s)
	if err != nil {
		return err
	}
	switch op.Space {
	case plan.SpaceWeight:
		return o.weight(d, slot, s, r.weights[s])
	case plan.SpaceArena:
		return within(op, o.arena, need, arenaAlign)
	case plan.SpacePick:
		return within(op, o.bundle.PickBytes, need, memoryAlign)
	case plan.SpaceCounters:
		return within(op, o.bundle.Counters, need, memoryAlign)
	case plan.SpaceKV:
		if op.Index < 0 || op.Index >= o.bundle.Model.NumHiddenLayers {
			return fmt.Errorf("cache %d of %d", op.Index, o.bundle.Model.NumHiddenLayers)
		}
		if o.bundle.Model.Hybrid.Linear(op.Index) {
			return fmt.Errorf("the cache of layer %d, which has linear attention", op.Index)
		}
	case plan.SpaceState:
		if op.Index < 0 || op.Index >= o.bundle.Model.NumHiddenLayers || !o.bundle.Model.Hybrid.Linear(op.Index) {
			return fmt.Errorf("the state of layer %d of %d, which has no linear attention", op.Index, o.bundle.Model.NumHiddenLayers)
		}
		if o.head || o.picking {
			return fmt.Errorf("the head moves no state on: it may run for some rows, or not at all")
		}
	case plan.SpaceHeads:
		if slices.ContainsFunc(k.Parts, func(p plan.Part) bool { return !sharesHeads(p) }) {
			return fmt.Errorf("expanded heads in a kernel that does more than make them or attend to them")
		}
	case plan.SpaceRope, plan.SpaceTables:
		if need > 0 { // memory that is looked up by position is not counted
			return fmt.Errorf("a table is read as %d bytes", need)
		}
	case plan.SpaceWanted:
		if !o.head || o.width == 1 {
			return fmt.Errorf("only the head of several rows knows which are wanted")
		}
	case plan.SpaceLogits:
		if o.width > 1 && !wanted(k) {
			return fmt.Errorf("logits of rows that may not be wanted")
		}
		if have := int64(plan.WantedRows(o.width, o.bundle.BatchRows())) * int64(o.bundle.Model.VocabSize) * 4; need > have {
			return fmt.Errorf("%d bytes of logits; there are %d", need, have)
		}
	}
	return nil
}

// rows is how many rows a kernel has to compute: all rows of the sequence, or the wanted ones.
func (o *operands) rows(k *plan.Kernel) int {
	if wanted(k) {
		return plan.WantedRows(o.width, o.bundle.BatchRows())
	}
	return o.width
}

// bytes is how much memory of a slot the parts of a kernel need.
func (o *operands) bytes(k *plan.Kernel, r *reach, slot int) (int64, error) {
	s, elements, rows := &k.Slots[slot], r.elements[slot], o.rows(k)
	if r.places[slot] {
		rows = o.width
	}
	size := elemBytes[s.Elem]
	if s.Elem == plan.ElemAct {
		size = elemBytes[o.bundle.Activations]
	}
	if s.Stride > 0 {
		if elements > int64(s.Stride) {
			return 0, fmt.Errorf("vectors of %d elements, %d apart", elements, s.Stride)
		}
		elements += int64(s.Stride) * int64(rows-1)
	}
	return elements * size, nil
}

// within checks that the byte range of an operand is inside the space, aligned, and holds need bytes.
func within(op *plan.Operand, size, need, align int64) error {
	if op.Offset < 0 || op.Bytes < 1 || op.Offset > size || op.Bytes > size-op.Offset || op.Offset%align != 0 {
		return fmt.Errorf("%d bytes at %d do not fit memory of %d in steps of %d", op.Bytes, op.Offset, size, align)
	}
	if op.Bytes < need {
		return fmt.Errorf("%d bytes; its parts reach %d", op.Bytes, need)
	}
	return nil
}

// weight checks that a slot is bound to a weight of the shape that its parts need.
func (o *operands) weight(d *plan.Dispatch, slot *plan.Slot, s int, m matrix) error {
	op := &d.Operands[s]
	if op.Index < 0 || op.Index >= len(o.bundle.Weights) {
		return fmt.Errorf("weight %d of %d", op.Index, len(o.bundle.Weights))
	}
	w := &o.bundle.Weights[op.Index]
	if layer := d.LayerOf(s); w.First >= 0 && (op.Ahead < -maxLayers || op.Ahead > maxLayers || w.Index(layer) < 0) {
		return fmt.Errorf("weight %.64s in layer %d; layers %d to %d have it, in all %d", w.Role, layer, w.First, w.Last-1, w.Layers())
	}
	if m != (matrix{}) && m != (matrix{w.Batch, w.Rows, w.Cols}) {
		return fmt.Errorf("weight %.64s is of %d × %d × %d; its parts reach %d × %d × %d", w.Role, w.Batch, w.Rows, w.Cols, m.entries, m.rows, m.cols)
	}
	for _, t := range w.Types {
		if slot.Elem == plan.ElemF32 && t != quant.F32 || slot.Elem == plan.ElemF16 && t != quant.F16 {
			return fmt.Errorf("weight %.64s may be %s, in a slot for elements of type %d", w.Role, t, slot.Elem)
		}
	}
	return nil
}
