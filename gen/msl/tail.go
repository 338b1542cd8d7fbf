package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
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

// PrefetchL2 says that the tail is going to read a matrix, of which every threadgroup that
// the tail waits for fetches an equal share.
func (v *tailView) PrefetchL2() (string, error) {
	p, ok := v.P.(*plan.MatVec)
	if !ok {
		return "", nil
	}
	n := v.Arrivals()
	bytes := fmt.Sprintf("%du * %s::row_bytes(%du) / %du", p.Rows, v.Tag(p.W), p.Cols, n*v.Simdgroups())
	entry, err := v.WeightEntry(fmt.Sprintf("(g / %du)", n))
	return fmt.Sprintf("PREFETCH_L2(%s + (g %% %du * %du + sg) * (%s), %s);", entry, n, v.Simdgroups(), bytes, bytes), err
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
		return slices.ContainsFunc(verify.Uses(t.Part), func(u verify.Use) bool { return u.Slot == slot && u.As == verify.Input })
	})
}
