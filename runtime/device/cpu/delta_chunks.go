package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// chunkRow is the vectors of one row for all heads that plan.DeltaChunks writes and plan.DeltaFold reads;
// plan.DeltaChunk names them.
type chunkRow struct{ seen, known, own, value, key, kept vec }

func (b *binder) chunkRows(c *plan.DeltaChunk, heads, dim int) []chunkRow {
	each := func(v plan.Vec) vec { return b.vector(v, heads, dim) }
	return perRow(b, func() chunkRow {
		return chunkRow{each(c.Seen), each(c.Known), each(c.Own), each(c.Value), each(c.Key), each(c.Kept)}
	})
}

// chunkOf is how many of the rows make up the first chunk: those of the first row's session, at most
// DeltaPiece.
func chunkOf(rows []plan.Row) int {
	n := 1
	for n < min(len(rows), plan.DeltaPiece) && rows[n].Table == rows[0].Table {
		n++
	}
	return n
}

// deltaChunks is the CPU kernel of plan.DeltaChunks. A unit is a head.
type deltaChunks struct {
	deltaInputs
	scale float32
	rows  []chunkRow
}

// chunkVectors is how many vectors a worker needs for each row of a chunk.
const chunkVectors = 6

func bindDeltaChunks(b *binder, p *plan.DeltaChunks) *deltaChunks {
	t := &deltaChunks{b.deltaInputs(p, &p.DeltaRows), float32(p.Scale), b.chunkRows(&p.DeltaChunk, p.Heads, p.Dim)}
	b.scratch((chunkVectors*plan.DeltaPiece + 3) * p.Dim)
	return t
}

func (t *deltaChunks) run(w *worker, lo, hi int) {
	rows := w.rows[:min(len(w.rows), len(t.rows))]
	for h := lo; h < hi; h++ {
		for at := 0; at < len(rows); {
			n := chunkOf(rows[at:])
			t.chunk(w, rows[at:at+n], at, h)
			at += n
		}
	}
}

// chunk computes one head of the rows of a chunk; the first one is row number at.
func (t *deltaChunks) chunk(w *worker, rows []plan.Row, at, h int) {
	n := t.dim
	buf := w.temp((chunkVectors*plan.DeltaPiece + 3) * n)
	vector := func(kind, row int) []float32 { return buf[(kind*plan.DeltaPiece+row)*n:][:n:n] }
	known := func(row int) []float32 { return vector(0, row) }
	value := func(row int) []float32 { return vector(1, row) }
	key := func(row int) []float32 { return vector(2, row) } // with the decay up to the current row
	rest := buf[chunkVectors*plan.DeltaPiece*n:]
	x, kept, keep := rest[:n], rest[n:2*n], rest[2*n:3*n]
	for i := range kept {
		kept[i] = 1
	}
	for r, row := range rows {
		in, out := &t.in[at+r], &t.rows[at+r]
		q, k, seen, own := vector(3, r), key(r), vector(4, r), vector(5, r)
		t.vector(w, in, row, 0, h, x, q)
		t.vector(w, in, row, 1, h, x, k)
		t.vector(w, in, row, 2, h, x, value(r))
		t.vector(w, in, row, 3, h, x, keep)
		beta := in.betaOf(h, x)
		multiply(kept, keep)
		for s := range r {
			multiply(key(s), keep)
		}
		linalg.Scale(value(r), beta)
		for i, d := range kept {
			known(r)[i], seen[i], own[i] = beta*k[i]*d, t.scale*q[i]*d, 0
		}
		for s := range r {
			a := beta * linalg.DotF32(k, key(s))
			linalg.Axpy(known(r), -a, known(s))
			linalg.Axpy(value(r), -a, value(s))
		}
		for s := range r + 1 {
			m := t.scale * linalg.DotF32(q, key(s))
			linalg.Axpy(seen, -m, known(s))
			linalg.Axpy(own, m, value(s))
		}
		for _, v := range []struct {
			to   *vec
			from []float32
		}{{&out.seen, seen}, {&out.known, known(r)}, {&out.own, own}, {&out.value, value(r)}, {&out.kept, kept}} {
			v.to.write(h*v.to.stride, v.from)
		}
	}
	for r := range rows {
		out := &t.rows[at+r].key
		out.write(h*out.stride, key(r))
	}
}

// multiply multiplies x by y, element by element.
func multiply(x, y []float32) {
	for i, v := range y {
		x[i] *= v
	}
}

// deltaFold is the CPU kernel of plan.DeltaFold. A unit is a head.
type deltaFold struct {
	deltaStates
	rows []chunkRow
	out  []vec
}

// foldPairs is how many dot products a state's column has with a chunk: two for each row. foldVectors is how
// many vectors a worker needs.
const foldPairs, foldVectors = 2 * plan.DeltaPiece, 2*foldPairs + plan.DeltaPiece + 1

func bindDeltaFold(b *binder, p *plan.DeltaFold) *deltaFold {
	b.dims(p.Heads, p.Dim, p.Taps, p.Slot, p.Columns)
	t := &deltaFold{b.statesOf(p, p.State), b.chunkRows(&p.DeltaChunk, p.Heads, p.Dim), perRow(b, func() vec { return b.vector(p.Out, p.Heads, p.Dim) })}
	b.scratch(foldVectors * p.Dim)
	return t
}

func (t *deltaFold) size() (units, cost int) {
	return t.heads, 8 * t.dim * t.dim * max(len(t.rows)/4, 1)
}

func (t *deltaFold) run(w *worker, lo, hi int) {
	rows := w.rows[:min(len(w.rows), len(t.rows))]
	for h := lo; h < hi; h++ {
		for at := 0; at < len(rows); {
			n := chunkOf(rows[at:])
			t.chunk(w, t.matrix(rows[at], h), at, n, h)
			at += n
		}
	}
}

// chunk updates the state of a head by count rows. The state's columns are contiguous, so they are the rows
// of both matrix products: first the state times all Known and Seen, which gives u and Out, then u times the
// keys, which is added to the state.
func (t *deltaFold) chunk(w *worker, state []float32, at, count, h int) {
	n := t.dim
	buf := w.temp(foldVectors * n)
	asked, sums, keys, x := buf[:foldPairs*n], buf[foldPairs*n:][:foldPairs*n], buf[2*foldPairs*n:][:plan.DeltaPiece*n], buf[(foldVectors-1)*n:][:n]
	read := func(v *vec) []float32 { return v.read(h*v.stride, n, x) }
	spread := func(to []float32, from []float32, factor float32) {
		for i, v := range from {
			to[i*foldPairs] = factor * v
		}
	}
	for i := range count {
		r := &t.rows[at+i]
		spread(asked[i:], read(&r.known), -1)
		spread(asked[plan.DeltaPiece+i:], read(&r.seen), 1)
		spread(sums[i:], read(&r.value), 1)
		spread(sums[plan.DeltaPiece+i:], read(&r.own), 1)
		copy(keys[i*n:][:n], read(&r.key))
	}
	s, all := matrix(state, n, n, n), matrix(sums, n, foldPairs, foldPairs)
	of := matrix(asked, n, foldPairs, foldPairs)
	linalg.AddProduct(&all, &s, &of)
	kept := read(&t.rows[at+count-1].kept)
	for j := range n {
		multiply(state[j*n:][:n], kept)
	}
	told, key := matrix(sums, n, count, foldPairs), matrix(keys, count, n, n)
	linalg.AddProduct(&s, &told, &key)
	for i := range count {
		for j := range x {
			x[j] = sums[j*foldPairs+plan.DeltaPiece+i]
		}
		out := &t.out[at+i]
		out.write(h*out.stride, x)
	}
}
