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

// Writes says whether op writes v.
func (op *Op) Writes(v *Value) bool {
	for _, o := range op.Out {
		if o == v {
			return true
		}
	}
	return false
}

// Writes says whether an op of the part writes v.
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

// Uses is how the values of a program travel between its parts.
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

// Move tells u that the ops of part from now belong to part into: one fusion
// needs no new analysis of the whole program.
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

// find is where part stands, or would stand, among the readers of v.
func (u *Uses) find(v *Value, part *Part) (int, bool) {
	return slices.BinarySearchFunc(u.readers[v], part, func(a, b *Part) int { return u.order[a] - u.order[b] })
}

// Writer is the part that writes v; nil if none does.
func (u *Uses) Writer(v *Value) *Part { return u.writer[v] }

// Readers are the parts that read v, in program order.
func (u *Uses) Readers(v *Value) []*Part { return u.readers[v] }

// Local says whether v never leaves the part that writes it.
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
