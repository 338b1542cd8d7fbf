package cpu

import "mla/runtime/plan"

// source is the prologue of a mat-vec: where its input comes from, and which norm is applied first. A worker
// keeps the prepared input until it needs another entry.
type source struct {
	id        int
	row       int // the row of the input
	cols      int
	vec       vec
	norm      *norm      // nil: none
	normApply *normApply // nil: none
	combine   *combine   // nil: the input is vec
}

// source binds the input of a mat-vec of entries × cols.
func (b *binder) source(v plan.Vec, entries, cols int, n *plan.Norm, r *plan.NormApply, c *plan.Combine) source {
	s := source{id: b.id(), row: b.row, cols: cols}
	if c != nil {
		s.combine = b.combine(c, cols)
	} else {
		s.vec = b.vector(v, entries, cols)
		s.norm, s.normApply = b.norm(n, cols), b.normApply(r)
	}
	if b.err == nil {
		b.r.need.input = max(b.r.need.input, cols)
	}
	return s
}

// load returns the prepared input of an entry. After a norm or a combine it is floats, whatever type its
// buffer has.
func (s *source) load(w *worker, entry int) input {
	if s.combine == nil && s.vec.stride == 0 {
		entry = 0
	}
	k := key{w.token, s.id, entry}
	p := &w.prepared[s.row]
	if p.key != k {
		p.input = s.prepare(w, entry)
		p.input.one, p.one.format = &p.one, nil
		p.key = k
	}
	return p.input
}

func (s *source) prepare(w *worker, entry int) input {
	x := w.prepared[s.row].numbers[:s.cols]
	if s.combine != nil {
		s.combine.run(w, entry, x)
		return input{x: x, factor: 1}
	}
	in := s.vec.read(entry*s.vec.stride, s.cols, x)
	if s.norm != nil {
		s.norm.apply(x, in)
		return input{x: x, factor: 1}
	}
	return input{x: in, halves: s.vec.half(), factor: s.normApply.factor(s.cols)}
}
