package cpu

import "mla/runtime/plan"

// source is the prologue of a mat-vec: where its input comes from and what
// happens to it first. A worker prepares an entry once and keeps it until it
// needs another.
type source struct {
	id      int
	cols    int
	vec     vec
	norm    *norm    // nil: none
	rescale *rescale // nil: none
	combine *combine // nil: the input is vec
}

// source binds the input of a mat-vec of entries × cols.
func (b *binder) source(v plan.Vec, entries, cols int, n *plan.Norm, r *plan.Rescale, c *plan.Combine) source {
	s := source{id: b.id(), cols: cols}
	b.dims(entries, cols)
	switch {
	case c != nil && (n != nil || r != nil), n != nil && r != nil:
		b.fail("more than one prologue")
	case c != nil:
		s.combine = b.combine(c, cols)
		if b.err == nil && c.Heads != entries {
			b.fail("combine of %d heads for %d entries", c.Heads, entries)
		}
	default:
		s.vec = b.input(v, entries, cols)
		s.norm, s.rescale = b.norm(n, cols), b.rescale(r)
	}
	if b.err == nil {
		b.scratch(cols)
	}
	return s
}

// load returns the prepared input of an entry.
func (s *source) load(w *worker, entry int) []float32 {
	if s.combine == nil && s.vec.stride == 0 {
		entry = 0
	}
	at := entry * s.vec.stride
	if s.combine == nil && s.norm == nil && s.rescale == nil && !s.vec.half() {
		return s.vec.f32[at : at+s.cols : at+s.cols]
	}
	x := w.input[:s.cols]
	k := key{w.token, s.id, entry}
	if w.inputKey == k {
		return x
	}
	if s.combine != nil {
		s.combine.run(w, entry, x)
	} else {
		in := s.vec.read(at, s.cols, x)
		switch {
		case s.norm != nil:
			s.norm.apply(x, in)
		case s.rescale != nil:
			s.rescale.apply(x, in)
		}
	}
	w.inputKey = k
	return x
}
