package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format describes the mat-vec loops of one format for one instruction set.
type format struct {
	name         string
	elems, bytes int // of a step: a block, or a run of one-element blocks
	// begin emits the loading of constants and returns what emits one step.
	begin  func(g *gen, t tile) func(l *loop)
	shared int  // registers for vectors of x that rows share
	folded bool // sums of a few products are scaled, not weights; see partial
	// arranged says that x is as arrangeLoop leaves it.
	arranged bool
	single   bool // one row at a time is as fast: the weights outweigh x
}

// loop is the state of the loop over the steps of some rows and some inputs.
type loop struct {
	*gen
	isa    isa
	rows   []row
	inputs []reg.Register       // x of this step
	loaded map[int][]operand.Op // vectors of all inputs, see loadX
	format
}

// row is one row of a loop: its block of this step and, per input, its running sums:
// two to hide the latency of the additions, one where they are of partial sums.
type row struct {
	block reg.Register
	sums  [][]reg.VecVirtual
}

// tile is a number of rows and inputs that are multiplied at once. Their sums take up
// to half of the registers. Several rows read x once from the outer caches.
type tile struct{ rows, inputs int }

// The Go types rowFunc, rowsFunc and tileFunc.
const (
	signatureRow  = "func(w *byte, x *float32, steps int) float32"
	signatureRows = "func(w *byte, stride int, x *float32, steps int, y *float32)"
	signatureTile = "func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)"
)

// matVec emits all loops of a format. They form the sum of a row and an input in the
// same order.
func (g *gen) matVec(v isa, f format) {
	g.oneRow(v, f)
	if !f.single {
		g.fourRows(v, f)
	}
	tiles := v.tiles
	if f.folded {
		tiles = v.folded
	}
	for _, t := range tiles {
		g.tile(v, f, t)
	}
}

// oneRow emits the function that takes one row.
func (g *gen) oneRow(v isa, f format) {
	name := fmt.Sprintf("dot%s%s", f.name, v.suffix)
	g.begin(name, signatureRow, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, inputs: []reg.Register{g.param("x")}}
	l.addRows(1)
	l.run()
	g.Store(l.sum(0, 0), g.ReturnIndex(0))
	g.end()
}

// fourRows emits the function that takes four rows.
func (g *gen) fourRows(v isa, f format) {
	name := fmt.Sprintf("dot%sx4%s", f.name, v.suffix)
	g.begin(name, signatureRows, fmt.Sprintf("%s is the rowsFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, inputs: []reg.Register{g.param("x")}}
	l.addRows(4)
	l.run()
	y := g.param("y")
	for r := range l.rows {
		g.VMOVSS(l.sum(r, 0), at(y, 4*r))
	}
	g.end()
}

// tile emits the function that takes some rows and some inputs, and writes the
// results of row and those that follow.
func (g *gen) tile(v isa, f format, t tile) {
	const slice = 24 // bytes of a []float32; its first word points to the floats
	name := fmt.Sprintf("dot%s_%dx%d%s", f.name, t.rows, t.inputs, v.suffix)
	g.begin(name, signatureTile, fmt.Sprintf("%s is the tileFunc of %s for %d × %d in steps of %d elements.",
		name, f.name, t.rows, t.inputs, f.elems))
	l := &loop{gen: g, isa: v, format: f}
	xs := g.param("xs")
	for j := range t.inputs {
		x := g.GP64()
		g.MOVQ(at(xs, slice*j), x)
		l.inputs = append(l.inputs, x)
	}
	l.addRows(t.rows)
	l.run()
	ys, first := g.param("ys"), g.param("row")
	for j := range t.inputs {
		y := g.GP64()
		g.MOVQ(at(ys, slice*j), y)
		for r := range l.rows {
			g.VMOVSS(l.sum(r, j), operand.Mem{Base: y, Index: first, Scale: 4, Disp: 4 * r})
		}
	}
	g.end()
}

// addRows adds n rows.
func (l *loop) addRows(n int) {
	chains := 2
	if l.folded {
		chains = 1
	}
	block := l.param("w")
	for r := range n {
		if r > 0 {
			next := l.GP64()
			l.LEAQ(operand.Mem{Base: block, Index: l.param("stride"), Scale: 1}, next)
			block = next
		}
		row := row{block: block}
		for range l.inputs {
			sums := make([]reg.VecVirtual, chains)
			for i := range sums {
				sums[i] = l.isa.vector(l.gen)
				l.VXORPS(sums[i], sums[i], sums[i])
			}
			row.sums = append(row.sums, sums)
		}
		l.rows = append(l.rows, row)
	}
}

// run emits the loop. It prefetches the rows to come, unless one row is a stream
// that the hardware follows.
func (l *loop) run() {
	var stride reg.Register
	if len(l.rows) > 1 {
		stride = l.param("stride")
	}
	steps := l.param("steps")
	step := l.format.begin(l.gen, tile{len(l.rows), len(l.inputs)})
	l.Label("step")
	if stride != nil {
		l.prefetch(stride, l.format.bytes)
	}
	step(l)
	for _, row := range l.rows {
		l.ADDQ(operand.U32(l.format.bytes), row.block)
	}
	for _, x := range l.inputs {
		l.ADDQ(operand.U32(l.vectorAt(l.elems/l.isa.lanes)), x)
	}
	l.DECQ(steps)
	l.JNZ(operand.LabelRef("step"))
}

// prefetch asks for the blocks of this step in the next rows. Several rows at once
// are not a stream that the hardware would follow, and without this the formats with
// many bytes per weight run at half their speed. Past the last row the hint is void:
// a prefetch never faults.
func (l *loop) prefetch(stride reg.Register, bytes int) {
	for _, row := range l.rows {
		for line := 0; line < bytes; line += 64 {
			l.PREFETCHT0(operand.Mem{Base: row.block, Index: stride, Scale: uint8(len(l.rows)), Disp: line})
		}
	}
}

// loadX readies n vectors of x, from vector first of this step on, in registers that
// the rows share, where there are enough.
func (l *loop) loadX(first, n int) {
	l.loaded = map[int][]operand.Op{}
	for v := first; v < first+n; v++ {
		for _, input := range l.inputs {
			var x operand.Op = at(input, l.vectorAt(v))
			if n*len(l.inputs) <= l.shared {
				r := l.isa.vector(l.gen)
				l.VMOVUPS(x, r)
				x = r
			}
			l.loaded[v] = append(l.loaded[v], x)
		}
	}
}

// vectorAt returns the offset of vector v of x.
func (l *loop) vectorAt(v int) int {
	if l.arranged {
		return arrangedBytes*(v/4) + 32*(v%4)
	}
	return 4 * l.isa.lanes * v
}

// sumAt returns the offset of the sums of group i of arranged x.
func (l *loop) sumAt(i int) int { return arrangedBytes*i + arrangedSum }

// add adds w·x of vector v of this step to the running sums of a row. The vectors of
// a running sum come in ascending order.
func (l *loop) add(row row, v int, w reg.Register) {
	for j, x := range l.loaded[v] {
		l.VFMADD231PS(x, w, row.sums[j][v%2])
	}
}

// partial is the sum of products, per row and input, of the elements of some rows that
// share a scale. Scaling it takes less than scaling the elements.
type partial struct {
	*loop
	rows []row
	sums [][]reg.VecVirtual
}

// partials calls f with partial sums of the rows: of one row after the other if there
// is one input, else of all, which then share the loads of x.
func (l *loop) partials(f func(p *partial)) {
	n := 1
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
	for r := range p.rows {
		for j, x := range p.inputs {
			p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
			p.VMOVUPS(at(x, p.sumAt(i)), p.sums[r][j])
		}
	}
}

// add adds the products of vector v of this step; element returns that of a row.
func (p *partial) add(v int, element func(r int) reg.VecVirtual) {
	xs := slices.Clone(p.loaded[v])
	for j := range xs {
		if len(p.rows) > 1 {
			x := p.isa.vector(p.gen)
			p.VMOVUPS(xs[j], x)
			xs[j] = x
		}
	}
	for r := range p.rows {
		w, first := element(r), p.sums[r] == nil
		for j, x := range xs {
			if first {
				p.sums[r] = append(p.sums[r], p.isa.vector(p.gen))
				p.VMULPS(x, w, p.sums[r][j])
			} else {
				p.VFMADD231PS(x, w, p.sums[r][j])
			}
		}
	}
}

// addBytes adds 32 elements of every row, the unsigned bytes of its q, times group i
// of arranged x. masks are for the bytes of dwords; without one for the last it is
// shifted down.
func (p *partial) addBytes(i int, q []reg.VecVirtual, masks []operand.Op) {
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

// fold adds the partial sums times the scale of their row to the running sums.
func (p *partial) fold(scale func(r int, row row) reg.VecVirtual) {
	for i, row := range p.rows {
		s := scale(p.first()+i, row)
		for j, sum := range p.sums[i] {
			p.VFMADD231PS(s, sum, row.sums[j][0])
		}
	}
}

// common adds the value of a row times the sums of group i of arranged x to the
// running sums.
func (p *partial) common(i int, value func(r int, row row) reg.VecVirtual) {
	for k, row := range p.rows {
		v := value(p.first()+k, row)
		for j, x := range p.inputs {
			p.VFMADD231PS(at(x, p.sumAt(i)), v, row.sums[j][0])
		}
	}
}

// sum returns a register with the sum of row r and input j lowest.
func (l *loop) sum(r, j int) reg.VecVirtual {
	sums := l.rows[r].sums[j]
	if len(sums) == 2 {
		l.VADDPS(sums[1], sums[0], sums[0])
	}
	return l.isa.sum(l.gen, sums[0])
}
