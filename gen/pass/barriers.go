package pass

import (
	"fmt"

	"mla/gen/ir"
)

// barriers marks the launches that must wait: launches that read a byte range written since the last barrier,
// or that write a range read or written since.
func barriers(p *ir.Program) error {
	var t tracker
	u := ir.Analyze(p)
	for _, s := range p.Launches {
		reads, writes := touched(p, u, s)
		s.Why = t.hazard(reads, writes)
		s.Barrier = s.Why != ""
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
	value      *ir.Value  // the value in these bytes
	launch     *ir.Launch // the launch that reads or writes it
}

func (a span) overlaps(b span) bool {
	return a.owner == b.owner && a.start < b.end && b.start < a.end
}

// tracker has the spans that launches have read and written since the last barrier.
type tracker struct{ reads, writes []span }

// hazard says why a launch must wait; "" if it need not.
func (t *tracker) hazard(reads, writes []span) string {
	if a, b := overlap(t.writes, reads); b != nil {
		return fmt.Sprintf("it reads %s, which %s writes", b.value.Name, a.launch.Name())
	}
	if a, b := overlap(t.writes, writes); b != nil {
		return fmt.Sprintf("it writes %s where %s writes %s", b.value.Name, a.launch.Name(), a.value.Name)
	}
	if a, b := overlap(t.reads, writes); b != nil {
		return fmt.Sprintf("it writes %s where %s reads %s", b.value.Name, a.launch.Name(), a.value.Name)
	}
	return ""
}

// overlap returns the first pair of spans that overlap; nil, nil if none do.
func overlap(a, b []span) (x, y *span) {
	for i := range a {
		for j := range b {
			if a[i].overlaps(b[j]) {
				return &a[i], &b[j]
			}
		}
	}
	return nil, nil
}

// touched lists what a launch reads and writes outside its parts.
func touched(p *ir.Program, u *ir.Uses, s *ir.Launch) (reads, writes []span) {
	for _, part := range s.Parts {
		if part.Tickets != nil {
			writes = append(writes, spanOf(p, s, part.Tickets))
		}
		for _, op := range part.Ops {
			for _, r := range op.In {
				if !part.Writes(r.V) {
					reads = append(reads, spanOf(p, s, r.V))
				}
			}
			for _, o := range op.Out {
				if !u.Local(o) {
					writes = append(writes, spanOf(p, s, o))
				}
			}
		}
	}
	return reads, writes
}

// spanOf returns the memory of a value.
func spanOf(p *ir.Program, s *ir.Launch, v *ir.Value) span {
	if v.Class == ir.Heads {
		return span{owner: p.Expanded, end: 1, value: v, launch: s}
	}
	if v.Class == ir.Cache || v.Class == ir.Counters || v.Output {
		return span{owner: v, end: 1, value: v, launch: s}
	}
	return span{start: v.Offset, end: v.Offset + p.Bytes(v), value: v, launch: s}
}
