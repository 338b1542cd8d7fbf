package neon

import (
	"fmt"
	"slices"
)

// Loops over inputs of signed bytes with scales. SDOT adds four products of bytes to each lane. SMMLA adds eight products to
// each of four lanes: two rows times two inputs. Products that share a scale are summed as integers, which is exact,
// and then added to one running sum. So a row's result has the same bits alone and in a tile.

// Byte layouts of arranged inputs, which arrangeBlocks and arrangeSuper write:
//
//	block   0–31  elements   32–35   scale   36–39   scale times sum of the elements
//	super  0–255  elements  256–259  scale  272–335  16 sums of 16 elements, 32-bit integers
const (
	blockBytes, blockScale, blockSum  = 40, 32, 36
	superBytes, superScale, superSums = 336, 256, 272
)

// int8Format describes the loops of a format for inputs of bytes.
type int8Format struct {
	name         string
	elems, bytes int
	input        int // bytes of the arranged input that belong to a block
	frame        int // 32-bit words on the stack, per row
	begin        func(w *writer) int8Block
}

// int8Block emits one block of the rows and inputs of t.
type int8Block func(t *byteTile)

// byteTile is what a loop multiplies: one row and one input, or two rows and two inputs.
type byteTile struct {
	*writer
	rows, inputs []gp
	acc          reg // running sum of row r and input j in lane 2r+j; of a row alone in lane 0
}

// int8Formats are all formats with loops over bytes.
var int8Formats = slices.Concat(int8Blocks, int8Grids())

// int8Blocks are the formats without a code book.
var int8Blocks = []int8Format{
	{name: "Q4_0", elems: 32, bytes: 18, input: blockBytes, begin: nibbles{qs: 2, less: 8}.begin8},
	{name: "Q4_1", elems: 32, bytes: 20, input: blockBytes, begin: nibbles{min: 2, qs: 4}.begin8},
	{name: "Q5_0", elems: 32, bytes: 22, input: blockBytes, begin: nibbles{qh: 2, qs: 6, less: 16}.begin8},
	{name: "Q5_1", elems: 32, bytes: 24, input: blockBytes, begin: nibbles{min: 2, qh: 4, qs: 8}.begin8},
	{name: "IQ4_NL", elems: 32, bytes: 18, input: blockBytes, begin: nibbles{qs: 2, table: &levels}.begin8},
	{name: "MXFP4", elems: 32, bytes: 17, input: blockBytes, begin: nibbles{qs: 1, table: &e2m1, power: true}.begin8},
	{name: "Q8_0", elems: 32, bytes: 34, input: blockBytes, begin: q8_0Bytes},
	{name: "Q4_K", elems: 256, bytes: 144, input: superBytes, frame: 8, begin: affineBytes(16, 0)},
	{name: "Q5_K", elems: 256, bytes: 176, input: superBytes, frame: 8, begin: affineBytes(48, 16)},
	{name: "Q6_K", elems: 256, bytes: 210, input: superBytes, frame: 16, begin: q6_KBytes},
	{name: "IQ4_XS", elems: 256, bytes: 136, input: superBytes, frame: 8, begin: iq4_XSBytes},
	{name: "Q2_K", elems: 256, bytes: 84, input: superBytes, frame: 16, begin: q2_KBytes},
	{name: "Q3_K", elems: 256, bytes: 110, input: superBytes, frame: 16, begin: q3_KBytes},
	{name: "TQ2_0", elems: 256, bytes: 66, input: superBytes, begin: tq2_0Bytes},
	{name: "TQ1_0", elems: 256, bytes: 54, input: superBytes, begin: tq1_0Bytes},
	{name: "Q1_0", elems: 128, bytes: 18, input: 4 * blockBytes, begin: q1_0Bytes},
	{name: "Q2_0", elems: 64, bytes: 18, input: 2 * blockBytes, begin: q2_0Bytes},
	{name: "NVFP4", elems: 64, bytes: 36, input: 2 * blockBytes, begin: nvfp4Bytes(0)},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, input: 2 * blockBytes, begin: nvfp4Bytes(4)},
}

// int8Row emits the rowFunc for inputs of bytes.
func (w *writer) int8Row(f int8Format) {
	name := "dot" + f.name + "Int8NEON"
	w.begin(name, signatureRow, 4*f.frame, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements, which are bytes.", name, f.name, f.elems))
	w.result(w.int8Loop(f, 1).acc)
	w.end()
}

// int8Tile emits the tileFunc of two rows and two inputs of bytes.
func (w *writer) int8Tile(f int8Format) {
	name := "dot" + f.name + "Int8_2x2NEON"
	w.begin(name, signatureTile, 8*f.frame, fmt.Sprintf("%s is the tileFunc of %s for 2 × 2 in steps of %d elements, which are bytes.", name, f.name, f.elems))
	t := w.int8Loop(f, 2)
	ys, row := w.param("ys"), w.param("row")
	for j := range 2 {
		y := w.gp()
		w.code("MOVD %d(R%d), R%d", sliceBytes*j, ys, y)
		w.code("ADD R%d<<2, R%d", row, y)
		for r := range 2 {
			v := w.vec()
			w.op("dup 4s", v, t.acc, 2*r+j)
			w.op("str s", v, y, 4*r)
			w.free(v)
		}
		w.freeGP(y)
	}
	w.end()
}

// int8Loop emits the loop over the blocks of n rows and n inputs.
func (w *writer) int8Loop(f int8Format, n int) *byteTile {
	t := &byteTile{writer: w, acc: w.zeros(1)[0]}
	t.rows, t.inputs = w.tile(n, n)
	steps := w.param("steps")
	block := f.begin(w)
	w.until(steps, 1, func() {
		block(t)
		for r := range n {
			w.add(t.rows[r], f.bytes)
			w.add(t.inputs[r], f.input)
		}
	})
	return t
}

// products multiplies 16 codes of every row by 16 bytes of every input, which begin at offset, and adds the products to sums
// (32-bit integers). For one row the four lanes have parts of the sum. For two rows lane 2r+j has the sum of row r and input j.
func (t *byteTile) products(sums reg, codes []reg, offset int) {
	if len(codes) == 1 {
		x := t.loaded("q", t.inputs[0], offset)
		t.op("sdot", sums, codes[0], x)
		t.free(x)
		return
	}
	x0, x1 := t.loaded("q", t.inputs[0], offset), t.loaded("q", t.inputs[1], offset)
	w, x := t.vec(), t.vec()
	for _, zip := range []string{"zip1 2d", "zip2 2d"} {
		t.op(zip, w, codes[0], codes[1])
		t.op(zip, x, x0, x1)
		t.op("smmla", sums, w, x)
	}
	t.free(x0, x1, w, x)
}

// whole completes integer sums: it adds up the four lanes of a row alone, and converts the sums to floats.
func (t *byteTile) whole(sums reg) {
	if len(t.rows) == 1 {
		t.op("addv s", sums, sums)
	}
	t.op("scvtf 4s", sums, sums)
}

// ofRows arranges one value per row, in the lowest lanes of v, in the order of the running sums: v0, v0, v1, v1. For one
// row it returns v[0]. It frees v.
func (t *byteTile) ofRows(v []reg) reg {
	if len(v) == 2 {
		t.op("zip1 4s", v[0], v[0], v[0])
		t.op("zip1 4s", v[1], v[1], v[1])
		t.op("zip1 2d", v[0], v[0], v[1])
		t.free(v[1])
	}
	return v[0]
}

// ofInputs loads one float per input from a byte offset, in the order of the running sums: x0, x1, x0, x1.
func (t *byteTile) ofInputs(offset int) reg {
	v := t.loaded("s", t.inputs[0], offset)
	if len(t.inputs) == 2 {
		other := t.loaded("s", t.inputs[1], offset)
		t.op("zip1 4s", v, v, other)
		t.op("zip1 2d", v, v, v)
		t.free(other)
	}
	return v
}

// each returns f(row) for every row.
func (t *byteTile) each(f func(row gp) reg) []reg {
	var list []reg
	for _, row := range t.rows {
		list = append(list, f(row))
	}
	return list
}

// addScaled adds (or subtracts, by op) sums·rows·inputs to the running sums. All are floats; it frees them.
func (t *byteTile) addScaled(op string, sums, rows, inputs reg) {
	t.op("fmul 4s", rows, rows, inputs)
	t.op(op, t.acc, sums, rows)
	t.free(sums, rows, inputs)
}

// begin8 is begin of the loops over bytes.
func (n nibbles) begin8(w *writer) int8Block {
	codes, powers := n.codes(w), 0
	if n.power {
		powers = w.symbol("powersOfTwo")
	}
	return func(t *byteTile) {
		sums := t.zeros(1)[0]
		var halves [2][]reg
		for _, row := range t.rows {
			q := codes(row)
			halves[0], halves[1] = append(halves[0], q[0]), append(halves[1], q[1])
		}
		for half, q := range halves {
			t.products(sums, q, 16*half)
			t.free(q...)
		}
		t.whole(sums)
		t.addScaled("fmla 4s", sums, t.ofRows(t.each(func(row gp) reg { return n.scale(w, row, powers) })), t.ofInputs(blockScale))
		if n.min > 0 {
			mins, sum := t.ofRows(t.each(func(row gp) reg { return w.half(row, n.min) })), t.ofInputs(blockSum)
			t.op("fmla 4s", t.acc, mins, sum)
			t.free(mins, sum)
		}
	}
}

// q8_0Bytes is the loop of Q8_0.
func q8_0Bytes(w *writer) int8Block {
	return func(t *byteTile) {
		sums := t.zeros(1)[0]
		for half := range 2 {
			q := t.each(func(row gp) reg { return w.loaded("q", row, 2+16*half) })
			t.products(sums, q, 16*half)
			t.free(q...)
		}
		t.whole(sums)
		t.addScaled("fmla 4s", sums, t.ofRows(t.each(func(row gp) reg { return w.half(row, 0) })), t.ofInputs(blockScale))
	}
}

// scaledSums are the sums of a block of 256 elements as integers: the products of a sub-block are multiplied by its
// scale, which is a 32-bit word on the stack.
type scaledSums struct {
	*byteTile
	sum    reg
	scales []gp // address of the next sub-block's scale, per row
}

// scaledSums returns sums that are zero. Row r has its scales on the stack, from word frame·r on.
func (t *byteTile) scaledSums(frame int) *scaledSums {
	s := &scaledSums{byteTile: t, sum: t.zeros(1)[0]}
	for r := range t.rows {
		at := t.gp()
		t.toStack(at, 4*frame*r)
		s.scales = append(s.scales, at)
	}
	return s
}

// add adds a sub-block. pieces are 16 codes of every row each; the first piece is multiplied by the inputs' bytes from offset
// on. It frees the codes.
func (s *scaledSums) add(offset int, pieces ...[]reg) {
	part := s.zeros(1)[0]
	for i, codes := range pieces {
		s.products(part, codes, offset+16*i)
		s.free(codes...)
	}
	var scales []reg
	for _, at := range s.scales {
		v := s.vec()
		s.op("ld1r 4s next", v, at)
		scales = append(scales, v)
	}
	if len(scales) == 2 {
		s.op("zip1 2d", scales[0], scales[0], scales[1])
	}
	s.op("mla 4s", s.sum, part, scales[0])
	s.free(scales...)
	s.free(part)
}

// finish adds the sums, times the rows' d and the inputs' scales, to the running sums. d is the float16 at an offset from end.
func (s *scaledSums) finish(end []gp, offset int) {
	var d []reg
	for _, at := range end {
		d = append(d, s.half(at, offset))
	}
	s.finishBy(d)
}

// finishBy is finish with d in registers, which it frees.
func (s *scaledSums) finishBy(d []reg) {
	s.whole(s.sum)
	s.addScaled("fmla 4s", s.sum, s.ofRows(d), s.ofInputs(superScale))
	s.freeGP(s.scales...)
}

// pointers returns, for every row, a register with the row's address plus offset.
func (t *byteTile) pointers(offset int) []gp {
	var list []gp
	for _, row := range t.rows {
		list = append(list, t.after(row, offset))
	}
	return list
}

// step advances pointers by bytes, and the inputs by inputs bytes.
func (t *byteTile) step(pointers []gp, bytes, inputs int) {
	for _, p := range pointers {
		t.add(p, bytes)
	}
	for _, x := range t.inputs {
		t.add(x, inputs)
	}
}

// rewind moves the inputs back to the start of the block of 256 bytes, after a loop over the block.
func (t *byteTile) rewind() {
	for _, x := range t.inputs {
		t.code("SUB $256, R%d", x)
	}
}
