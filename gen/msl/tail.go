package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// tailRows is how many rows a lane of a tail's mat-vec works on at a time: the more,
// the more loads are under way in the one threadgroup that the GPU waits for.
const tailRows = 16

// tailView is what runs behind a part as its template sees it.
type tailView struct {
	partView
	tail *plan.Tail
}

// tailOf is the tail behind a part, or nil.
func tailOf(k *plan.Kernel, p plan.Part) *plan.Tail {
	for i := range k.Tails {
		if t := &k.Tails[i]; k.Parts[t.After] == p {
			return t
		}
	}
	return nil
}

func (k *kernelView) tailView(t *plan.Tail) (*tailView, error) {
	part, err := k.part(t.Part, 0)
	if err != nil {
		return nil, err
	}
	v := &tailView{part, t}
	v.Behind = true
	if p, ok := t.Part.(*plan.MatVec); ok {
		v.template, v.N = "tail.matvec", min(tailRows, p.Rows)
	}
	return v, nil
}

// Arrivals is how many threadgroups make what one of the tail's groups reads.
func (v *tailView) Arrivals() int { return v.Kernel.Arrivals(v.tail) }

// Counter points to the counter of the threadgroup's group.
func (v *tailView) Counter() string {
	at := v.Name(v.tail.Counters)
	if v.tail.Part.Groups() > 1 {
		at += fmt.Sprintf(" + g / %du", v.Arrivals())
	}
	return at
}

// Soon says that the tail is going to read a matrix, of which every threadgroup that
// the tail waits for fetches an equal share.
func (v *tailView) Soon() (string, error) {
	p, ok := v.P.(*plan.MatVec)
	if !ok {
		return "", nil
	}
	n := v.Arrivals()
	bytes := fmt.Sprintf("%du * %s::row_bytes(%du) / %du", p.Rows, v.Tag(p.W), p.Cols, n*v.Simdgroups())
	entry, err := v.WeightEntry(fmt.Sprintf("(g / %du)", n))
	return fmt.Sprintf("WEIGHTS_SOON(%s + (g %% %du * %du + sg) * (%s), %s);", entry, n, v.Simdgroups(), bytes, bytes), err
}

// WeightEntry points to an entry of the tail's matrix.
func (v *tailView) WeightEntry(entry string) (string, error) {
	slot := v.P.(*plan.MatVec).W
	stride, err := v.Stride(slot)
	return fmt.Sprintf("%s + %s * %s", v.Name(slot), entry, stride), err
}

// text is the tail as it stands behind its part, within the part's block.
func (v *tailView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "    if (last_to_arrive<%du>(%s, (threadgroup uint *)(scratch + %du), tid)) {\n", v.Arrivals(), v.Counter(), v.wordAt)
	text := strings.TrimPrefix(v.printer.render(v.template, v), "\n")
	if v.template != "tail.matvec" { // a template of parts
		text = "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
	}
	b.WriteString(strings.TrimSuffix(text, "\n") + "\n    }\n")
	return b.String()
}

// coherent says whether a slot is written and then read by a tail.
func (k *kernelView) coherent(slot int) bool {
	return k.Slots[slot].Write && slices.ContainsFunc(k.Tails, func(t plan.Tail) bool {
		return slices.ContainsFunc(refs(t.Part), func(r ref) bool { return r.slot == slot && r.use == input })
	})
}

// checkTails holds the tails of a kernel to what their templates take for granted:
// they read rows of one group that the part before them makes, by whole threadgroups.
func checkTails(k *plan.Kernel) error {
	for i := range k.Tails {
		t := &k.Tails[i]
		if err := checkTail(k, t); err != nil {
			return fmt.Errorf("tail %d: %w", i, err)
		}
		if slices.ContainsFunc(k.Tails[:i], func(other plan.Tail) bool { return other.After == t.After || other.Counters == t.Counters }) {
			return fmt.Errorf("tail %d: part %d has two, or they share counters", i, t.After)
		}
	}
	return nil
}

// turns is a tail's part as the limits on rows see it: its threadgroup takes them in turns.
func turns(p plan.Part) plan.Part {
	if m, ok := p.(*plan.MatVec); ok {
		one := *m
		one.RowsPerGroup = 1
		return &one
	}
	return p
}

func checkTail(k *plan.Kernel, t *plan.Tail) error {
	if t.After < 0 || t.After >= len(k.Parts) {
		return fmt.Errorf("behind part %d of %d", t.After, len(k.Parts))
	}
	after, ok := k.Parts[t.After].(*plan.MatVec)
	if !ok || after.Batch != 1 || after.Out.Offset != 0 {
		return fmt.Errorf("behind a %T; expected one mat-vec", k.Parts[t.After])
	}
	if err := (ref{slot: t.Counters, use: counters}).check(k); err != nil {
		return err
	}
	if err := checkPart(k, turns(t.Part)); err != nil {
		return err
	}
	groups := t.Part.Groups()
	made := after.Rows / max(groups, 1)
	if after.Rows%max(groups, 1) != 0 || groups > 1 && made%after.RowsPerGroup != 0 {
		return fmt.Errorf("%d groups of %d rows, %d per threadgroup; expected whole threadgroups for each", groups, after.Rows, after.RowsPerGroup)
	}
	inputs, end, stride, err := tailReads(t.Part, made)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if k.Slots[in.Slot].Elem != plan.ElemAct {
			return fmt.Errorf("reads slot %d, which does not hold activations", in.Slot)
		}
		if in.Slot != after.Out.Slot || end > made || stride != made {
			return fmt.Errorf("reads %d elements of slot %d, %d apart; expected what part %d makes, %d apart", end, in.Slot, stride, t.After, made)
		}
	}
	return nil
}

// tailReads lists the inputs of a tail's part, where they end within a group, and the
// distance of two groups; a part with only one has that of its row.
func tailReads(p plan.Part, row int) (inputs []plan.Vec, end, stride int, err error) {
	switch p := p.(type) {
	case *plan.MatVec:
		if p.Norm != nil || p.Rescale != nil || p.Combine != nil || p.Up >= 0 || p.SquaredReLU || p.Rope != nil || p.Add >= 0 || p.HandOver != nil || p.SplitK > 1 ||
			p.RowsPerGroup != p.Rows || p.Out.Slot < 0 {
			return nil, 0, 0, fmt.Errorf("a mat-vec that fuses something, or of %d rows per group; expected all %d", p.RowsPerGroup, p.Rows)
		}
		return []plan.Vec{p.In}, p.In.Offset + p.Cols, p.In.Stride, nil
	case *plan.StoreKV:
		return []plan.Vec{p.Lat, p.KPe}, max(p.Lat.Offset+p.LatDim, p.KPe.Offset+p.PeDim), row, nil
	}
	return nil, 0, 0, fmt.Errorf("no template for a %T as a tail", p)
}
