package pass

import (
	"fmt"
	"slices"

	"mla/gen/ir"
)

// lastBlocks moves a launch into the one before it where each of its parts needs no more
// than what one part there makes: the threadgroup that finishes the last rows of a
// head goes on with that head's queries into the latent space, the one that finishes
// the last row of the latent writes the cache row. A dispatch costs more than the
// work of these, and the trip through memory becomes one through the cache.
func lastBlocks(p *ir.Program) error {
	if !p.Spec.Tuning.LastBlocks {
		return nil
	}
	t := lastBlocker{p: p, counters: map[string]*ir.Value{}}
	err := eachLayer(p, func(m *merger) {
		for i := 1; i < len(m.launches); i++ {
			if before := m.launches[i-1]; len(before.Parts) > 0 {
				t.launch(m.uses, before, m.launches[i])
			}
		}
	})
	if err != nil {
		return err
	}
	return t.err
}

type lastBlocker struct {
	p        *ir.Program
	counters map[string]*ir.Value // by part and number of groups
	err      error
}

// launch makes the parts of s last-block parts of those of before, all or none.
func (t *lastBlocker) launch(uses *ir.Uses, before, s *ir.Launch) {
	var found []*ir.LastBlock
	taken := map[*ir.Part]bool{}
	for _, part := range s.Parts {
		lastBlock := lastBlockOf(uses, before, part)
		if lastBlock == nil || taken[lastBlock.After] {
			return
		}
		taken[lastBlock.After] = true
		found = append(found, lastBlock)
	}
	for i, part := range s.Parts {
		part.Ops[0].Note("last_blocks: the last threadgroup of %s goes on with it: a dispatch costs more than this work", found[i].After.Name())
		part.LastBlock = found[i]
		part.LastBlock.Counters = t.countersOf(part)
	}
	before.Parts = append(before.Parts, s.Parts...)
	s.Parts = nil
	t.check(before)
}

// lastBlockOf says how part can be a last-block part in launch before; nil if it cannot.
func lastBlockOf(uses *ir.Uses, before *ir.Launch, part *ir.Part) *ir.LastBlock {
	after := maker(uses, part)
	if after == nil || after.LastBlock != nil || !slices.Contains(before.Parts, after) || !makesRows(after) {
		return nil
	}
	body := part.Ops[len(part.Ops)-1]
	switch {
	case body.Kind == ir.StoreKV:
		return &ir.LastBlock{After: after, Groups: 1}
	case body.Kind == ir.MatVec && len(part.Ops) == 1:
		// Entry b reads within the b-th of as many groups of rows as there are entries.
		in := body.In[0]
		if in.Off+in.Len <= in.Stride && in.Stride*body.Batch == in.V.Len {
			return &ir.LastBlock{After: after, Groups: body.Batch}
		}
	}
	return nil
}

// maker is the part that makes all that part reads, nil if there are several.
func maker(uses *ir.Uses, part *ir.Part) *ir.Part {
	var one *ir.Part
	for _, op := range part.Ops {
		for _, r := range op.In {
			w := uses.Writer(r.V)
			if w == part {
				continue
			}
			if w == nil || one != nil && one != w {
				return nil
			}
			one = w
		}
	}
	return one
}

// makesRows says whether part is one mat-vec whose threadgroups make rows of the result.
func makesRows(part *ir.Part) bool {
	op := part.Find(ir.MatVec)
	return op != nil && op.Batch == 1 && part.Find(ir.ExpertsMatVec) == nil && part.Find(ir.SwiGLU) == nil
}

// countersOf are a last-block part's counters. Layers share them: before a dispatch of the next
// layer counts, that of this one has ended and left zeros.
func (t *lastBlocker) countersOf(part *ir.Part) *ir.Value {
	key := fmt.Sprint(part.Name(), part.LastBlock.Groups)
	if t.counters[key] == nil {
		v := t.p.NewValue(part.Name()+"_arrived", -1, part.LastBlock.Groups)
		v.Class, v.Offset = ir.Counters, t.p.CounterBytes
		t.p.CounterBytes += aligned(int64(4 * v.Len))
		t.counters[key] = v
	}
	return t.counters[key]
}

// check wants threadgroups that make rows of one group only.
func (t *lastBlocker) check(s *ir.Launch) {
	shape := t.p.Shape(s)
	rows := shape.RowsPerSimdgroup * shape.Simdgroups / shape.SplitK
	for _, part := range s.Parts {
		if part.LastBlock == nil || part.LastBlock.Groups == 1 || t.err != nil {
			continue
		}
		made := part.LastBlock.After.Find(ir.MatVec).Out[0].Len / part.LastBlock.Groups
		if made%rows != 0 {
			t.err = fmt.Errorf("kernel %s: threadgroups of %d rows cut the %d rows that %s waits for; with tuning.last_blocks, rows_per_simdgroup * simdgroups / split_k divides them",
				s.Name(), rows, made, part.Name())
		}
	}
}
