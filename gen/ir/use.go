package ir

// Ops calls f for every op in order.
func (p *Program) Ops(f func(s *Step, part *Part, op *Op)) {
	for _, s := range p.Steps {
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				f(s, part, op)
			}
		}
	}
}

// Reads says whether op reads v.
func (op *Op) Reads(v *Value) bool {
	for _, r := range op.In {
		if r.V == v {
			return true
		}
	}
	return false
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

// Reads says whether an op of the part reads v.
func (p *Part) Reads(v *Value) bool {
	for _, op := range p.Ops {
		if op.Reads(v) {
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

// Readers lists the parts that read v, in program order.
func (p *Program) Readers(v *Value) []*Part {
	var parts []*Part
	for _, s := range p.Steps {
		for _, part := range s.Parts {
			if part.Reads(v) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// Uses is how the values of a program travel between its parts.
type Uses struct {
	writer  map[*Value]*Part
	readers map[*Value][]*Part
}

// Analyze finds every value's writer and readers.
func Analyze(p *Program) *Uses {
	u := &Uses{writer: map[*Value]*Part{}, readers: map[*Value][]*Part{}}
	p.Ops(func(_ *Step, part *Part, op *Op) {
		for _, r := range op.In {
			rs := u.readers[r.V]
			if len(rs) == 0 || rs[len(rs)-1] != part {
				u.readers[r.V] = append(rs, part)
			}
		}
		for _, o := range op.Out {
			u.writer[o] = part
		}
	})
	return u
}

// Writer is the part that writes v.
func (u *Uses) Writer(v *Value) *Part { return u.writer[v] }

// Readers are the parts that read v, in program order.
func (u *Uses) Readers(v *Value) []*Part { return u.readers[v] }

// Local says whether v never leaves the part that writes it.
func (u *Uses) Local(v *Value) bool {
	if v.Class != Act || v.Output {
		return false
	}
	for _, r := range u.readers[v] {
		if r != u.writer[v] {
			return false
		}
	}
	return true
}
