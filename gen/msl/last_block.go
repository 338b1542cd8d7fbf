package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// lastBlockRows is how many rows a lane of a last-block part's mat-vec works on at a time: the more,
// the more loads are under way in the one threadgroup that the GPU waits for.
const lastBlockRows = 16

// lastBlockView is what runs behind a part as its template sees it.
type lastBlockView struct {
	partView
	lastBlock *plan.LastBlock
}

// lastBlockOf is the last-block part behind a part, or nil.
func lastBlockOf(k *plan.Kernel, p plan.Part) *plan.LastBlock {
	for i := range k.LastBlocks {
		if t := &k.LastBlocks[i]; k.Parts[t.After] == p {
			return t
		}
	}
	return nil
}

func (k *kernelView) lastBlockView(t *plan.LastBlock) (*lastBlockView, error) {
	part, err := k.part(t.Part, 0)
	if err != nil {
		return nil, err
	}
	v := &lastBlockView{part, t}
	v.Behind = true
	if p, ok := t.Part.(*plan.MatVec); ok {
		v.body.template, v.N = "last_block.matvec", min(lastBlockRows, p.Rows)
	}
	return v, nil
}

// Arrivals is how many threadgroups make what one of the last-block part's groups reads.
func (v *lastBlockView) Arrivals() int { return v.Kernel.Arrivals(v.lastBlock) }

// Counter points to the counter of the threadgroup's group.
func (v *lastBlockView) Counter() string {
	at := v.Name(v.lastBlock.Counters)
	if v.lastBlock.Part.Groups() > 1 {
		at += fmt.Sprintf(" + g / %du", v.Arrivals())
	}
	return at
}

// PrefetchL2 says that the last-block part is going to read a matrix, of which every threadgroup that
// the last-block part waits for fetches an equal share.
func (v *lastBlockView) PrefetchL2() (string, error) {
	p, ok := v.P.(*plan.MatVec)
	if !ok {
		return "", nil
	}
	n := v.Arrivals()
	bytes := fmt.Sprintf("%du * %s::row_bytes(%du) / %du", p.Rows, v.Tag(p.W), p.Cols, n*v.Simdgroups())
	entry, err := v.WeightEntry(fmt.Sprintf("(g / %du)", n))
	return fmt.Sprintf("PREFETCH_L2(%s + (g %% %du * %du + sg) * (%s), %s);", entry, n, v.Simdgroups(), bytes, bytes), err
}

// WeightEntry points to an entry of the last-block part's matrix.
func (v *lastBlockView) WeightEntry(entry string) (string, error) {
	slot := v.P.(*plan.MatVec).W
	stride, err := v.Stride(slot)
	return fmt.Sprintf("%s + %s * %s", v.Name(slot), entry, stride), err
}

// text is the last-block part as it stands behind its part, within the part's block.
func (v *lastBlockView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "    if (last_to_arrive<%du>(%s, (threadgroup uint *)(scratch + %du), tid)) {\n", v.Arrivals(), v.Counter(), v.wordAt)
	text := strings.TrimPrefix(v.printer.render(v.body.template, v), "\n")
	if v.body.template != "last_block.matvec" { // a template of parts
		text = "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
	}
	b.WriteString(strings.TrimSuffix(text, "\n") + "\n    }\n")
	return b.String()
}

// coherent says whether a slot is written and then read by a last-block part.
func (k *kernelView) coherent(slot int) bool {
	return k.Slots[slot].Write && slices.ContainsFunc(k.LastBlocks, func(t plan.LastBlock) bool {
		return slices.ContainsFunc(t.Part.Uses(), func(u plan.Use) bool { return u.Slot == slot && u.As == plan.RoleVector && !u.Write })
	})
}
