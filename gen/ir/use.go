package ir

import "slices"

// Ops calls f for every op in order.
func (p *Program) Ops(f func(s *Launch, part *Part, op *Op)) {
	for _, s := range p.Launches {
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				f(s, part, op)
			}
		}
	}
}

// Ops lists the ops of all parts in order.
func (s *Launch) Ops() (list []*Op) {
	for _, part := range s.Parts {
		list = append(list, part.Ops...)
	}
	return list
}

// Writes reports whether op writes v.
func (op *Op) Writes(v *Value) bool {
	for _, o := range op.Out {
		if o == v {
			return true
		}
	}
	return false
}

// Writes reports whether an op of the part writes v.
func (p *Part) Writes(v *Value) bool {
	for _, op := range p.Ops {
		if op.Writes(v) {
			return true
		}
	}
	return false
}

// Find returns the part's first op of kind k, or nil.
func (p *Part) Find(k Kind) *Op {
	for _, op := range p.Ops {
		if op.Kind == k {
			return op
		}
	}
	return nil
}

// Uses knows which part writes each value, and which parts read it.
type Uses struct {
	order   map[*Part]int // place in the program
	writer  map[*Value]*Part
	readers map[*Value][]*Part // in program order, each part once
}

// Analyze finds every value's writer and readers.
func Analyze(p *Program) *Uses {
	u := &Uses{order: map[*Part]int{}, writer: map[*Value]*Part{}, readers: map[*Value][]*Part{}}
	p.Ops(func(_ *Launch, part *Part, op *Op) {
		if _, ok := u.order[part]; !ok {
			u.order[part] = len(u.order)
		}
		u.add(part, op)
	})
	return u
}

// Move updates u after the ops of part from were moved to part into. So a fusion needs no new analysis of the
// whole program.
func (u *Uses) Move(from, into *Part) {
	for _, op := range from.Ops {
		for _, r := range op.In {
			if i, ok := u.find(r.V, from); ok {
				u.readers[r.V] = slices.Delete(u.readers[r.V], i, i+1)
			}
		}
	}
	for _, op := range from.Ops {
		u.add(into, op)
	}
}

func (u *Uses) add(part *Part, op *Op) {
	for _, r := range op.In {
		if i, ok := u.find(r.V, part); !ok {
			u.readers[r.V] = slices.Insert(u.readers[r.V], i, part)
		}
	}
	for _, o := range op.Out {
		u.writer[o] = part
	}
}

// find returns the index of part among the readers of v, or where it would be, and whether it is one.
func (u *Uses) find(v *Value, part *Part) (int, bool) {
	return slices.BinarySearchFunc(u.readers[v], part, func(a, b *Part) int { return u.order[a] - u.order[b] })
}

// Writer returns the part that writes v; nil if none does.
func (u *Uses) Writer(v *Value) *Part { return u.writer[v] }

// Readers returns the parts that read v, in program order.
func (u *Uses) Readers(v *Value) []*Part { return u.readers[v] }

// Local reports whether v is read only in the part that writes it, so that it needs no memory.
func (u *Uses) Local(v *Value) bool {
	if v.Class != Act || v.Output || v.Kept {
		return false
	}
	for _, r := range u.readers[v] {
		if r != u.writer[v] {
			return false
		}
	}
	return true
}
