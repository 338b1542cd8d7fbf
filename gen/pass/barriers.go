package pass

import "mla/gen/ir"

// barriers marks the steps that must wait: those that read a byte range
// written since the last barrier, or write one read or written since.
func barriers(p *ir.Program) error {
	var t tracker
	u := ir.Analyze(p)
	for _, s := range p.Steps {
		reads, writes := touched(p, u, s)
		s.Barrier = t.hazard(reads, writes)
		if s.Barrier {
			t = tracker{}
		}
		t.reads = append(t.reads, reads...)
		t.writes = append(t.writes, writes...)
	}
	return nil
}

// span is a byte range of the arena, or a whole cache, the output or counters.
type span struct {
	owner      *ir.Value // nil: the arena
	start, end int64
}

func (a span) overlaps(b span) bool {
	return a.owner == b.owner && a.start < b.end && b.start < a.end
}

type tracker struct{ reads, writes []span }

func (t *tracker) hazard(reads, writes []span) bool {
	return anyOverlap(t.writes, reads) || anyOverlap(t.writes, writes) || anyOverlap(t.reads, writes)
}

func anyOverlap(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.overlaps(y) {
				return true
			}
		}
	}
	return false
}

// touched lists what a step reads and writes outside its parts.
func touched(p *ir.Program, u *ir.Uses, s *ir.Step) (reads, writes []span) {
	for _, part := range s.Parts {
		if part.Tail != nil {
			writes = append(writes, spanOf(p, part.Tail.Counters))
		}
		for _, op := range part.Ops {
			for _, r := range op.In {
				if !part.Writes(r.V) {
					reads = append(reads, spanOf(p, r.V))
				}
			}
			for _, o := range op.Out {
				if !u.Local(o) {
					writes = append(writes, spanOf(p, o))
				}
			}
		}
	}
	return reads, writes
}

func spanOf(p *ir.Program, v *ir.Value) span {
	if v.Class == ir.Cache || v.Class == ir.Counters || v.Output {
		return span{owner: v, end: 1}
	}
	return span{start: v.Offset, end: v.Offset + p.Bytes(v)}
}
