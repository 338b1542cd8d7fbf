package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format describes the mat-vec loops of one format for one instruction set.
type format struct {
	name         string
	elems, bytes int // of one step, which is a block, or a run of one-element blocks
	// begin emits the code before the loop, which loads constants. It returns the function that emits one step.
	begin  func(g *gen, s shape) func(l *loop)
	shared int  // number of registers that hold vectors of x for all rows
	folded bool // the scale multiplies a sum of products, not each weight; see partial
	few    bool // only the loops for one input exist: decoding costs more than multiplying
	book   bool // unpack stores fields of a block on the stack, so the function may need a larger stack
	pairs  bool // the loop for four rows runs twice with two rows: four rows need too many registers
	alone  bool // every loop takes one row: rows share no work
	common bool // every element has an added constant (a minimum), per block or sub-block
	// arranged is the layout of x that arrangeLoop writes; nil: x stays as it is.
	arranged *arranged
	int8     *arranged                           // the layout of x for the loops over bytes; nil: this entry has no such loops
	begin8   func(g *gen, s shape) func(l *loop) // begin of the loops over bytes; nil: they use begin
	together int                                 // rows whose partial sums are computed at the same time, for one input; 0 means 1
}

// loop is the state of the loop over the steps of some rows and some inputs.
type loop struct {
	*gen
	isa    isa
	rows   []row
	inputs []reg.Register       // x of this step
	kept   reg.Register         // address of the running sums, if they are in memory
	left   reg.Register         // number of steps left, including the current one
	panel  *panel               // where decoded weights are stored; nil: they are multiplied
	loaded map[int][]operand.Op // vector of x → its operand for each input; see loadX
	label  string               // prefix of the loop's labels
	parts  int                  // number of inner loops so far; see repeat
	moved  moved                // how far the inner loops of this step have moved the pointers
	format
}

// moved counts bytes of a block and vectors of x.
type moved struct{ bytes, vectors int }

// row is one row of a loop: the address of its current block, and its running sums for
// each input. An input has isa.chains running sums, or one in a folded format. A stretch
// keeps the running sums in memory, because its partial sums need the registers.
type row struct {
	block reg.Register
	sums  [][]reg.VecVirtual
	kept  []operand.Mem
}

// at returns the memory at a byte offset in the row's block.
func (r row) at(offset int) operand.Mem { return at(r.block, offset) }

// tile is the number of rows and inputs that one loop multiplies. Its running sums take
// at most half of the registers. With several rows, x is read from the outer caches
// once for all of them.
type tile struct{ rows, inputs int }

// shape is what a loop multiplies: a tile, with inputs of floats or of bytes (int8).
type shape struct {
	tile
	int8   bool
	blocks []reg.Register // address of the first block of each row
}

// stretchTile is the tile of a stretchFunc.
var stretchTile = tile{2, 4}

// aloneTiles are the tiles of formats with the field alone.
var aloneTiles = []tile{{1, 4}, {1, 2}}

// Signatures of the Go types rowFunc, rowsFunc, stretchFunc and tileFunc.
const (
	signatureRow     = "func(w *byte, x *float32, steps int) float32"
	signatureRows    = "func(w *byte, stride int, x *float32, steps int, y *float32)"
	signatureStretch = "func(w *byte, stride int, xs *[]float32, offset, steps int, sums *float32)"
	signatureTile    = "func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)"
)

// matVec emits all loops of a format. Every loop adds the products of a row and an input
// in the same order.
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

// oneRow emits the function for one row and one input.
func (g *gen) oneRow(v isa, f format) {
	name := fmt.Sprintf("dot%s%s", f.name, v.suffix)
	g.begin(name, signatureRow, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, inputs: []reg.Register{g.param("x")}}
	l.addRows(0, 1)
	l.run()
	g.Store(l.sum(0, 0), g.ReturnIndex(0))
	g.end()
}

// fourRows emits the function for four rows and one input.
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

// tile emits the function for the rows and inputs of t. It writes the results to elements
// row, row+1, … of each y.
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

// stretch emits the function that multiplies a stretch (some consecutive steps) of the rows
// and inputs of t, and adds the products to running sums in memory. The inputs of a whole
// tile exceed the nearest cache; those of a stretch fit.
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

// addRows adds n rows to the loop. The first one is row number first, which is 0, 1 or 2
// (LEAQ multiplies the stride by it).
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

// run emits the loop. With several rows it prefetches the next rows. One row is a stream
// that the hardware prefetches by itself.
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

// move advances the pointers to the blocks and to the inputs by bytes, and the pointer to
// the panel by elements.
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

// repeat emits an inner loop: body runs n times. After each run the blocks advance by a
// number of bytes and the inputs by a number of vectors. Compared with n copies of body
// the code is shorter; a long body makes the loop as fast.
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

// walk returns a register with the address of from, and a function that advances the
// register by step bytes: call it at the end of the body of repeat.
func (l *loop) walk(from operand.Mem) (at reg.Register, next func(step int)) {
	r := l.base(from)
	return r, func(step int) { l.addTo(r, step) }
}

// prefetch requests bytes of the next rows and advances the register ahead. The next rows are as many
// as the current ones, and lie one after the other in memory. So the requests form one ascending
// stream, which is the fastest order for memory. The hardware prefetcher would not follow
// several rows at once. Past the last row the request has no effect: a prefetch never faults.
func (l *loop) prefetch(ahead reg.Register, bytes int) {
	for line := 0; line < bytes; line += 64 {
		l.PREFETCHT0(at(ahead, line))
	}
	l.addTo(ahead, bytes)
}

// loadX prepares vectors first to first+n-1 of x of this step in l.loaded. The vectors are
// loaded into registers for all rows if l.shared allows it; else they stay memory operands.
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

// inputBytes returns the bytes of x that one step takes.
func (l *loop) inputBytes() int {
	if l.quantised() {
		return l.arranged.bytes() * l.elems / l.arranged.elems()
	}
	return l.vectorAt(l.elems / l.isa.lanes)
}

// vectorAt returns the byte offset of vector v of x.
func (l *loop) vectorAt(v int) int {
	if l.arranged != nil {
		return l.arranged.at(v)
	}
	return 4 * l.isa.lanes * v
}

// add multiplies the weights w by vector v of x and adds the products to the row's running
// sums, or stores w in the panel. Vectors must come in ascending order.
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

// sum returns a register whose lowest lane has the sum of row r and input j.
func (l *loop) sum(r, j int) reg.VecVirtual {
	sums := l.rows[r].sums[j]
	if len(sums) == 2 {
		l.VADDPS(sums[1], sums[0], sums[0])
	}
	return l.isa.sum(l.gen, sums[0])
}
