package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// partial is the sum of products, per row and input, of the elements of some rows that
// share a scale. Scaling it takes less than scaling the elements.
type partial struct {
	*loop
	rows  []row
	sums  [][]reg.VecVirtual
	begun bool // with the sums of arranged x
}

// partials calls f with partial sums of some rows, one such group after the other. With
// several inputs these are all rows, which then share the loads of x. With one they are as
// many as the format says: their chains of additions go on at the same time.
func (l *loop) partials(f func(p *partial)) {
	n := min(max(l.together, 1), len(l.rows))
	if len(l.inputs) > 1 {
		n = len(l.rows)
	}
	for r := 0; r < len(l.rows); r += n {
		f(&partial{loop: l, rows: l.rows[r : r+n], sums: make([][]reg.VecVirtual, n)})
	}
}

// first is the number of the first row in the loop.
func (p *partial) first() int {
	return slices.IndexFunc(p.loop.rows, func(r row) bool { return r.block == p.rows[0].block })
}

// each returns what f makes of every row; r counts the rows of the loop.
func (p *partial) each(f func(r int, row row) reg.VecVirtual) []reg.VecVirtual {
	var values []reg.VecVirtual
	for i, row := range p.rows {
		values = append(values, f(p.first()+i, row))
	}
	return values
}

// begin begins the partial sums with the sums of group i of arranged x.
func (p *partial) begin(i int) {
	if p.quantised() {
		p.begun = true // fold adds them to sums of the same width
		return
	}
	for r := range p.rows {
		for j, x := range p.inputs {
			p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
			p.VMOVUPS(at(x, p.arranged.sumAt(i)), p.sums[r][j])
		}
	}
}

// add adds the products of vector v of this step; element returns that of a row. Of
// several inputs half of the vectors of x are loaded for all rows, half by every
// multiplication: the first takes an instruction more, the second a load for each row.
func (p *partial) add(v int, element func(r int) reg.VecVirtual) {
	if p.panel != nil {
		p.VMOVUPS(element(0), p.panel.at(v))
		return
	}
	if len(p.inputs) == 1 {
		for r := range p.rows {
			p.multiply(r, 0, element(r), p.loaded[v][0])
		}
		return
	}
	var ws []reg.VecVirtual
	for r := range p.rows {
		ws = append(ws, element(r))
	}
	for j, x := range p.loaded[v] {
		if j%2 == 0 {
			t := p.isa.vector(p.gen)
			p.VMOVUPS(x, t)
			x = t
		}
		for r, w := range ws {
			p.multiply(r, j, w, x)
		}
	}
}

// multiply adds w·x to the partial sum of a row and an input, or begins it.
func (p *partial) multiply(r, j int, w reg.Register, x operand.Op) {
	if len(p.sums[r]) > j {
		p.VFMADD231PS(x, w, p.sums[r][j])
		return
	}
	p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
	p.VMULPS(x, w, p.sums[r][j])
}

// addBytes adds 32 elements of every row, the unsigned bytes of its q, times vectors 4i
// and on of arranged x. masks are for the bytes of dwords; without one for the last it is
// shifted down.
func (p *partial) addBytes(i int, q []reg.VecVirtual, masks []operand.Op) {
	if p.quantised() {
		p.addProducts(i, q)
		return
	}
	p.loadX(4*i, 4)
	for b := range 4 {
		p.add(4*i+b, func(r int) reg.VecVirtual {
			w := p.isa.vector(p.gen)
			if b < len(masks) {
				p.VPAND(masks[b], q[r], w)
			} else {
				p.VPSRLD(operand.U8(24), q[r], w)
			}
			p.VCVTDQ2PS(w, w)
			return w
		})
	}
}

// fold adds the partial sums times the scale of their row to the running sums, and then,
// unless common is nil, its value of a row times the sums of group i of arranged x.
func (p *partial) fold(i int, scale, common func(r int, row row) reg.VecVirtual) {
	if to := p.panel; to != nil {
		p.VMOVUPS(scale(0, p.rows[0]), to.scaleAt(i))
		if common != nil {
			p.VMOVUPS(common(0, p.rows[0]), to.scaleAt(i).Offset(to.rows*4*to.lanes))
		}
		return
	}
	for k, row := range p.rows {
		s := scale(p.first()+k, row)
		var c reg.VecVirtual
		if common != nil {
			c = common(p.first()+k, row)
		}
		for j, sum := range p.sums[k] {
			if p.quantised() {
				p.widenProducts(i, j, sum)
			}
			to := sum
			if row.kept != nil {
				p.VFMADD213PS(row.kept[j], s, sum)
			} else {
				to = row.sums[j][0]
				p.VFMADD231PS(s, sum, to)
			}
			if common != nil {
				p.VFMADD231PS(at(p.inputs[j], p.arranged.sumAt(i)), c, to)
			}
			if row.kept != nil {
				p.VMOVUPS(sum, row.kept[j])
			}
		}
	}
}
