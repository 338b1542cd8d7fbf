package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// partial holds partial sums: for each of some rows and each input, the sum of the products of
// the elements that share a scale. Scaling the sum takes fewer instructions than scaling
// every element.
type partial struct {
	*loop
	rows  []row
	sums  [][]reg.VecVirtual
	begun bool // fold adds the sums of arranged x
}

// partials splits the rows of the loop into groups and calls f for each group in turn. With
// several inputs there is one group of all rows, which share the loads of x. With one input
// a group has l.together rows: their chains of additions run in parallel.
func (l *loop) partials(f func(p *partial)) {
	n := min(max(l.together, 1), len(l.rows))
	if len(l.inputs) > 1 {
		n = len(l.rows)
	}
	for r := 0; r < len(l.rows); r += n {
		f(&partial{loop: l, rows: l.rows[r : r+n], sums: make([][]reg.VecVirtual, n)})
	}
}

// first returns the number, within the loop, of the first row of p.
func (p *partial) first() int {
	return slices.IndexFunc(p.loop.rows, func(r row) bool { return r.block == p.rows[0].block })
}

// each returns f(r, row) for every row of p. r is the number of the row within the loop.
func (p *partial) each(f func(r int, row row) reg.VecVirtual) []reg.VecVirtual {
	var values []reg.VecVirtual
	for i, row := range p.rows {
		values = append(values, f(p.first()+i, row))
	}
	return values
}

// begin starts the partial sums with the sums of group i of arranged x.
func (p *partial) begin(i int) {
	if p.quantised() {
		p.begun = true // later: the sums of bytes have to be 32 bits wide first
		return
	}
	for r := range p.rows {
		for j, x := range p.inputs {
			p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
			p.VMOVUPS(at(x, p.arranged.sumAt(i)), p.sums[r][j])
		}
	}
}

// add multiplies vector v of x of this step by the rows' elements and adds the products to the partial
// sums. element returns the elements of row r of p. With several inputs, every other x is
// loaded into a register for all rows; the rest are memory operands of each multiplication. A
// register costs one more instruction, a memory operand one load per row: the mix balances both.
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

// multiply adds w·x to the partial sum of row r and input j, or starts the sum with it.
func (p *partial) multiply(r, j int, w reg.Register, x operand.Op) {
	if len(p.sums[r]) > j {
		p.VFMADD231PS(x, w, p.sums[r][j])
		return
	}
	p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
	p.VMULPS(x, w, p.sums[r][j])
}

// addBytes multiplies 32 elements of every row by vectors 4i to 4i+3 of arranged x. The elements
// are the unsigned bytes of the row's q. masks[b] selects byte b of each dword. If there
// are only three masks, byte 3 is shifted down instead.
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

// fold multiplies the partial sums by their row's scale and adds them to the running sums. Unless common
// is nil, it also adds the row's common value times the sums of group i of arranged x. For a panel it
// stores the scale and the common value.
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
