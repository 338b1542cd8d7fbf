package pass

import (
	"sort"

	"mla/gen/ir"
)

// arenaAlign is the alignment of activations: Metal needs it for buffer offsets of arguments in address space
// `constant` (rule A3 of sim/metal), and every vector load needs less.
const arenaAlign = 256

// aligned rounds bytes up to a multiple of arenaAlign.
func aligned(bytes int64) int64 { return (bytes + arenaAlign - 1) / arenaAlign * arenaAlign }

// life is the range of launches during which a value's bytes must stay.
type life struct {
	v           *ir.Value
	first, last int
	size        int64
}

// buffers gives every value that leaves its part a place in the arena: the first that fits, in the order in
// which values are made. Values share bytes only if no launch needs both, so the inputs and outputs of a
// launch never overlap.
func buffers(p *ir.Program) error {
	tickets(p)
	var placed []*life
	for _, l := range lives(p) {
		l.v.Offset = firstFit(placed, l)
		placed = append(placed, l)
		p.ArenaBytes = max(p.ArenaBytes, l.v.Offset+l.size)
	}
	return nil
}

// tickets gives the parts with persistent threadgroups, the experts of a batch, their counter. All parts
// share one counter: every dispatch leaves it at zero, and the next dispatch that counts waits for its end.
func tickets(p *ir.Program) {
	var counter *ir.Value
	if !p.Target().PersistentExperts() {
		return
	}
	for _, s := range p.Launches {
		for _, part := range s.Parts {
			if part.Find(ir.ExpertsMatVec) == nil || !p.BatchExperts(s) {
				continue
			}
			if counter == nil {
				counter = p.NewValue("tickets", -1, 1)
				counter.Class, counter.Offset = ir.Counters, p.CounterBytes
				p.CounterBytes += aligned(4)
			}
			part.Tickets = counter
		}
	}
}

// lives lists the activations that are stored in memory, in the order of their first launch.
func lives(p *ir.Program) []*life {
	u := ir.Analyze(p)
	var list []*life
	at := map[*ir.Value]*life{}
	add := func(v *ir.Value, launch int) {
		at[v] = &life{v: v, first: launch, last: launch, size: aligned(p.Bytes(v))}
		list = append(list, at[v])
	}
	if p.Input != nil {
		add(p.Input, 0)
	}
	for i, s := range p.Launches {
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				for _, r := range op.In {
					if l := at[r.V]; l != nil {
						l.last = i
					}
				}
				for _, o := range op.Out {
					if o.Class == ir.Act && !o.Output && !u.Local(o) {
						add(o, i)
					}
				}
			}
		}
	}
	if p.Hidden != nil {
		at[p.Hidden].last = len(p.Launches)
	}
	return list
}

// firstFit returns the lowest offset at which l overlaps no value that is alive at the same time.
func firstFit(placed []*life, l *life) int64 {
	var busy []*life
	for _, o := range placed {
		if o.last >= l.first && o.first <= l.last {
			busy = append(busy, o)
		}
	}
	sort.Slice(busy, func(i, j int) bool { return busy[i].v.Offset < busy[j].v.Offset })
	at := int64(0)
	for _, o := range busy {
		if at+l.size <= o.v.Offset {
			break
		}
		at = max(at, o.v.Offset+o.size)
	}
	return at
}
