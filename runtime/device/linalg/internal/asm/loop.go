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
	begin  func(g *gen, s shape) func(l *loop)
	shared int  // registers for vectors of x that rows share
	folded bool // sums of a few products are scaled, not weights; see partial
	few    bool // there are loops for one input alone: decoding takes most of the time
	book   bool // a block's numbers are on the stack
	pairs  bool // a loop for four rows takes two, and then two: more need too many registers
	alone  bool // rows come one at a time, for some inputs: nothing that rows share is worth a loop
	common bool // and elements have something in common, which is added to all of them
	// arranged says how arrangeLoop leaves x; nil: as it is.
	arranged *arranged
	int8     *arranged                           // the same for the loops that multiply bytes; nil: the format has none
	begin8   func(g *gen, s shape) func(l *loop) // of those; nil: begin
	together int                                 // rows of one input whose partial sums are made at the same time; 0: one
}

// loop is the state of the loop over the steps of some rows and some inputs.
type loop struct {
	*gen
	isa    isa
	rows   []row
	inputs []reg.Register       // x of this step
	kept   reg.Register         // where the running sums are, if they are in memory
	left   reg.Register         // how many steps are left, with this one
	panel  *panel               // where the weights of this step go; nil: they are multiplied
	loaded map[int][]operand.Op // vectors of all inputs, see loadX
	label  string               // of the loop, for names of labels
	parts  int                  // loops within a step so far
	moved  moved                // how far these have moved the pointers
	format
}

// moved is a number of bytes of a block and of vectors of x.
type moved struct{ bytes, vectors int }

// row is one row of a loop: its block of this step and, per input, its running sums:
// isa.chains of them, one where they are of partial sums. Those of a stretch are in
// memory: its partial sums need the registers.
type row struct {
	block reg.Register
	sums  [][]reg.VecVirtual
	kept  []operand.Mem
}

// at is the memory of a block at an offset.
func (r row) at(offset int) operand.Mem { return at(r.block, offset) }

// tile is a number of rows and inputs that are multiplied at once. Their sums take up
// to half of the registers. Several rows read x once from the outer caches.
type tile struct{ rows, inputs int }

// shape is what a loop multiplies: a tile, of floats or of bytes.
type shape struct {
	tile
	int8   bool
	blocks []reg.Register // the first block of each row
}

// stretchTile is what a stretchFunc multiplies.
var stretchTile = tile{2, 4}

// aloneTiles are those of formats whose rows come one at a time.
var aloneTiles = []tile{{1, 4}, {1, 2}}

// The Go types rowFunc, rowsFunc, tileFunc and stretchFunc.
const (
	signatureRow     = "func(w *byte, x *float32, steps int) float32"
	signatureRows    = "func(w *byte, stride int, x *float32, steps int, y *float32)"
	signatureStretch = "func(w *byte, stride int, xs *[]float32, offset, steps int, sums *float32)"
	signatureTile    = "func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)"
)

// matVec emits all loops of a format. They form the sum of a row and an input in the
// same order.
func (g *gen) matVec(v isa, f format) {
	g.oneRow(v, f)
	if f.few {
		g.fourRows(v, f)
		return
	}
	if f.alone {
		for _, t := range aloneTiles {
			g.tile(v, f, t)
		}
		return
	}
	g.fourRows(v, f)
	tiles := v.tiles
	if f.folded {
		tiles = v.folded
	}
	for _, t := range tiles {
		g.tile(v, f, t)
	}
	if f.folded {
		g.stretch(v, f, stretchTile)
	}
}

// oneRow emits the function that takes one row.
func (g *gen) oneRow(v isa, f format) {
	name := fmt.Sprintf("dot%s%s", f.name, v.suffix)
	g.begin(name, signatureRow, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, inputs: []reg.Register{g.param("x")}}
	l.addRows(0, 1)
	l.run()
	g.Store(l.sum(0, 0), g.ReturnIndex(0))
	g.end()
}

// fourRows emits the function that takes four rows.
func (g *gen) fourRows(v isa, f format) {
	name := fmt.Sprintf("dot%sx4%s", f.name, v.suffix)
	g.begin(name, signatureRows, fmt.Sprintf("%s is the rowsFunc of %s in steps of %d elements.", name, f.name, f.elems))
	rows := 4
	if f.pairs {
		rows = 2
	}
	if f.book {
		g.Attributes(0) // it may need a larger stack
	}
	for first := 0; first < 4; first += rows {
		l := &loop{gen: g, isa: v, format: f, inputs: []reg.Register{g.param("x")}}
		if first > 0 {
			l.label = "upper"
		}
		l.addRows(first, rows)
		l.run()
		y := g.param("y")
		for r := range l.rows {
			g.VMOVSS(l.sum(r, 0), at(y, 4*(first+r)))
		}
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
	l.addRows(0, t.rows)
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

// stretch emits the function that adds a stretch of some rows and some inputs to their
// sums in memory. A tile of this size reads more of x than a near cache holds, so the
// stretch is one that it does.
func (g *gen) stretch(v isa, f format, t tile) {
	const slice = 24 // bytes of a []float32; its first word points to the floats
	name := fmt.Sprintf("add%s_%dx%d%s", f.name, t.rows, t.inputs, v.suffix)
	g.begin(name, signatureStretch, fmt.Sprintf("%s is the stretchFunc of %s for %d × %d in steps of %d elements.",
		name, f.name, t.rows, t.inputs, f.elems))
	l := &loop{gen: g, isa: v, format: f, kept: g.param("sums")}
	xs, offset := g.param("xs"), g.param("offset")
	for j := range t.inputs {
		x := g.GP64()
		g.MOVQ(at(xs, slice*j), x)
		g.ADDQ(offset, x)
		l.inputs = append(l.inputs, x)
	}
	l.addRows(0, t.rows)
	l.run()
	g.end()
}

// addRows adds n rows. The number of the first one is 0, 1 or 2.
func (l *loop) addRows(first, n int) {
	chains := l.isa.chains
	if l.folded {
		chains = 1
	}
	block := l.param("w")
	if first > 0 {
		l.LEAQ(operand.Mem{Base: block, Index: l.param("stride"), Scale: uint8(first)}, block)
	}
	for r := range n {
		if r > 0 {
			next := l.GP64()
			l.LEAQ(operand.Mem{Base: block, Index: l.param("stride"), Scale: 1}, next)
			block = next
		}
		row := row{block: block}
		for j := range l.inputs {
			if l.kept != nil {
				row.kept = append(row.kept, at(l.kept, 4*l.isa.lanes*(r*len(l.inputs)+j)))
				continue
			}
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
	l.left = l.param("steps")
	l.taken = 0
	s := shape{tile: tile{len(l.rows), len(l.inputs)}, int8: l.quantised()}
	for _, row := range l.rows {
		s.blocks = append(s.blocks, row.block)
	}
	step := l.format.begin(l.gen, s)
	var ahead reg.Register
	if stride != nil {
		ahead = l.GP64()
		l.LEAQ(operand.Mem{Base: l.rows[0].block, Index: stride, Scale: uint8(len(l.rows))}, ahead)
	}
	l.Label(l.label + "step")
	if ahead != nil {
		l.prefetch(ahead, len(l.rows)*l.format.bytes)
	}
	step(l)
	l.move(l.format.bytes-l.moved.bytes, l.inputBytes()-l.vectorAt(l.moved.vectors), l.elems-l.moved.vectors*l.isa.lanes)
	l.DECQ(l.left)
	l.JNZ(operand.LabelRef(l.label + "step"))
}

// move moves the pointers on: by bytes of rows and of inputs, or by elements of the panel.
func (l *loop) move(block, input, elems int) {
	for _, row := range l.rows {
		l.addTo(row.block, block)
	}
	for _, x := range l.inputs {
		l.addTo(x, input)
	}
	if l.panel != nil {
		l.addTo(l.panel.Register, l.panel.bytes(elems))
	}
}

// addTo adds a constant to a register.
func (l *loop) addTo(r reg.Register, n int) {
	if n > 0 {
		l.ADDQ(operand.U32(n), r)
	}
}

// repeat emits a loop within a step: body n times, each with a given number of bytes of a block and vectors of x. Text is shorter
// so, and runs as fast where body is long.
func (l *loop) repeat(n, bytes, vectors int, body func()) {
	l.parts++
	label, left := fmt.Sprintf("%spart%d", l.label, l.parts), l.GP64()
	l.MOVQ(operand.U32(n), left)
	l.Label(label)
	body()
	l.move(bytes, l.vectorAt(vectors), vectors*l.isa.lanes)
	l.DECQ(left)
	l.JNZ(operand.LabelRef(label))
	l.moved.bytes += n * bytes
	l.moved.vectors += n * vectors
}

// walk returns a register with an address that body of repeat moves on by step at its end.
func (l *loop) walk(from operand.Mem) (at reg.Register, next func(step int)) {
	r := l.base(from)
	return r, func(step int) { l.addTo(r, step) }
}

// prefetch asks for a part of the next rows, which are as many, in the order of their addresses: rows lie one after the
// other, and one stream is what memory is fastest with. Several rows at once are not a stream that the hardware would
// follow. Past the last row the hint is void: a prefetch never faults.
func (l *loop) prefetch(ahead reg.Register, bytes int) {
	for line := 0; line < bytes; line += 64 {
		l.PREFETCHT0(at(ahead, line))
	}
	l.addTo(ahead, bytes)
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

// inputBytes is the size of a step of x.
func (l *loop) inputBytes() int {
	if l.quantised() {
		return l.arranged.bytes() * l.elems / l.arranged.elems()
	}
	return l.vectorAt(l.elems / l.isa.lanes)
}

// vectorAt returns the offset of vector v of x.
func (l *loop) vectorAt(v int) int {
	if l.arranged != nil {
		return l.arranged.at(v)
	}
	return 4 * l.isa.lanes * v
}

// add adds w·x of vector v of this step to the running sums of a row. The vectors of
// a running sum come in ascending order.
func (l *loop) add(row row, v int, w reg.Register) {
	if l.panel != nil {
		l.VMOVUPS(w, l.panel.at(v))
		return
	}
	for j, x := range l.loaded[v] {
		sums := row.sums[j]
		l.VFMADD231PS(x, w, sums[v%len(sums)])
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
