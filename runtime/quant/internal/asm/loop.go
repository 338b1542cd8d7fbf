package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format describes the mat-vec loops of one format for one instruction set.
type format struct {
	name         string
	elems, bytes int // of a step: a block, or a run of one-element blocks
	// begin emits the loading of constants and returns what emits one step.
	begin  func(g *gen, rows int) func(l *loop)
	shared int  // registers for vectors of x that rows share
	single bool // one row at a time is as fast: the weights outweigh x
}

// loop is the state of the loop over the steps of some rows and some inputs.
type loop struct {
	*gen
	isa    isa
	rows   []row
	inputs []reg.Register       // x of this step
	loaded map[int][]operand.Op // vectors of all inputs, see loadX
	shared int                  // of the format
}

// row is one row of a loop: its block of this step, and two running sums per input
// to hide the latency of the additions.
type row struct {
	block reg.Register
	sums  [][2]reg.VecVirtual
}

// tile is a number of rows and inputs that are multiplied at once. The sums of the
// larger ones take half of the registers.
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
	for _, t := range v.tiles {
		g.tile(v, f, t)
	}
}

// oneRow emits the function that takes one row.
func (g *gen) oneRow(v isa, f format) {
	name := fmt.Sprintf("dot%s%s", f.name, v.suffix)
	g.begin(name, signatureRow, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, shared: f.shared, inputs: []reg.Register{g.param("x")}}
	l.addRows(1)
	l.run(f)
	g.Store(l.sum(0, 0), g.ReturnIndex(0))
	g.end()
}

// fourRows emits the function that takes four rows.
func (g *gen) fourRows(v isa, f format) {
	name := fmt.Sprintf("dot%sx4%s", f.name, v.suffix)
	g.begin(name, signatureRows, fmt.Sprintf("%s is the rowsFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, shared: f.shared, inputs: []reg.Register{g.param("x")}}
	l.addRows(4)
	l.run(f)
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
	l := &loop{gen: g, isa: v, shared: f.shared}
	xs := g.param("xs")
	for j := range t.inputs {
		x := g.GP64()
		g.MOVQ(at(xs, slice*j), x)
		l.inputs = append(l.inputs, x)
	}
	l.addRows(t.rows)
	l.run(f)
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
	block := l.param("w")
	for r := range n {
		if r > 0 {
			next := l.GP64()
			l.LEAQ(operand.Mem{Base: block, Index: l.param("stride"), Scale: 1}, next)
			block = next
		}
		row := row{block: block}
		for range l.inputs {
			sums := [2]reg.VecVirtual{l.isa.vector(l.gen), l.isa.vector(l.gen)}
			for _, sum := range sums {
				l.VXORPS(sum, sum, sum)
			}
			row.sums = append(row.sums, sums)
		}
		l.rows = append(l.rows, row)
	}
}

// run emits the loop. It prefetches the rows to come, unless one row is a stream
// that the hardware follows.
func (l *loop) run(f format) {
	var stride reg.Register
	if len(l.rows) > 1 {
		stride = l.param("stride")
	}
	steps := l.param("steps")
	step := f.begin(l.gen, len(l.rows))
	l.Label("step")
	if stride != nil {
		l.prefetch(stride, f.bytes)
	}
	step(l)
	for _, row := range l.rows {
		l.ADDQ(operand.U32(f.bytes), row.block)
	}
	for _, x := range l.inputs {
		l.ADDQ(operand.U32(4*f.elems), x)
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
			var x operand.Op = at(input, 4*l.isa.lanes*v)
			if n*len(l.inputs) <= l.shared {
				r := l.isa.vector(l.gen)
				l.VMOVUPS(x, r)
				x = r
			}
			l.loaded[v] = append(l.loaded[v], x)
		}
	}
}

// add adds w·x of vector v of this step to the running sums of a row. The vectors of
// a running sum come in ascending order.
func (l *loop) add(row row, v int, w reg.Register) {
	for j, x := range l.loaded[v] {
		l.VFMADD231PS(x, w, row.sums[j][v%2])
	}
}

// sum returns a register with the sum of row r and input j lowest.
func (l *loop) sum(r, j int) reg.VecVirtual {
	sums := l.rows[r].sums[j]
	l.VADDPS(sums[1], sums[0], sums[0])
	return l.isa.sum(l.gen, sums[0])
}
