package cpu

import "mla/runtime/plan"

// rope rotates the last dim elements of heads of headDim elements by the
// interleaved pairs (2i, 2i+1).
type rope struct {
	table        []float32 // see device.RopeTable
	headDim, dim int
}

// rope binds an optional rotation.
func (b *binder) rope(p *plan.RopeAt) *rope {
	if p == nil {
		return nil
	}
	b.slot(p.Table, plan.SpaceRope)
	return &rope{b.r.numbers(plan.SpaceRope), p.HeadDim, p.Dim}
}

// apply rotates x, which begins at element at of the vector, an even number.
func (r *rope) apply(x []float32, at int, pos uint32) {
	row := r.table[int(pos)*r.dim : (int(pos)+1)*r.dim]
	start := r.headDim - r.dim
	for i := 0; i+1 < len(x); i += 2 {
		j := (at+i)%r.headDim - start
		if j < 0 {
			continue
		}
		cos, sin := row[j], row[j+1]
		a, b := x[i], x[i+1]
		x[i], x[i+1] = a*cos-b*sin, a*sin+b*cos
	}
}

// ropeVec is the CPU kernel of plan.RopeVec.
type ropeVec struct {
	in, out vec
	heads   int
	rope    *rope
}

func bindRopeVec(b *binder, p *plan.RopeVec) *ropeVec {
	n := p.Rope.HeadDim
	return &ropeVec{b.vector(p.In, p.Heads, n), b.vector(p.Out, p.Heads, n), p.Heads, b.rope(&p.Rope)}
}

func (t *ropeVec) size() (units, cost int) { return 1, 8 * t.heads * t.rope.headDim }

func (t *ropeVec) run(w *worker, _, _ int) {
	x := w.temp(t.rope.headDim)
	for h := range t.heads {
		copy(x, t.in.read(h*t.in.stride, len(x), x))
		t.rope.apply(x, 0, w.row.Pos)
		t.out.write(h*t.out.stride, x)
	}
}
