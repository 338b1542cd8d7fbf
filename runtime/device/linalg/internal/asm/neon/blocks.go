package neon

import "slices"

// formats are the formats of blocks. Their loops decode a block in the order of its elements.
var formats = slices.Concat(blockFormats, superFormats, floatGrids())

// blockFormats are the formats whose blocks have one scale, and NVFP4.
var blockFormats = []format{
	{name: "Q4_0", elems: 32, bytes: 18, begin: nibbles{qs: 2, less: 8}.begin},
	{name: "Q4_1", elems: 32, bytes: 20, begin: nibbles{min: 2, qs: 4}.begin},
	{name: "Q5_0", elems: 32, bytes: 22, begin: nibbles{qh: 2, qs: 6, less: 16}.begin},
	{name: "Q5_1", elems: 32, bytes: 24, begin: nibbles{min: 2, qh: 4, qs: 8}.begin},
	{name: "IQ4_NL", elems: 32, bytes: 18, begin: nibbles{qs: 2, table: &levels}.begin},
	{name: "MXFP4", elems: 32, bytes: 17, begin: nibbles{qs: 1, table: &e2m1, power: true}.begin},
	{name: "Q8_0", elems: 32, bytes: 34, begin: q8_0},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp4(0)},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp4(4)},
	{name: "Q1_0", elems: 128, bytes: 18, words: true, begin: q1_0},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_0},
}

// table maps the 16 values of a nibble to signed bytes.
type table struct {
	name   string
	values [16]int8
}

var (
	levels = table{"levels", [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}}
	e2m1   = table{"e2m1", [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}}
)

// table loads a table into a register.
func (w *writer) table(t *table) reg {
	var b []byte
	for _, v := range t.values {
		b = append(b, byte(v))
	}
	return w.bytes(t.name, b...)
}

// nibbles is a format with blocks of 32 elements in 16 bytes and one scale per block. In ggml's layout byte i of qs
// has element i in its low nibble and element 16+i in its high nibble. The fields are byte offsets in the block;
// 0 means that the format has no such field.
type nibbles struct {
	table *table // the numbers of the 16 codes; nil: a code is its own number
	less  byte   // the number that codes count from
	min   int    // float16 that is added to every element
	qh    int    // four bytes with the fifth bit of each element
	qs    int    // 16 bytes of nibbles
	power bool   // the scale is a byte e, for 2^(e-128), instead of a float16
}

// begin is begin of the loops over floats.
func (n nibbles) begin(l *loop) func() {
	codes, powers := n.codes(l.writer), 0
	if n.power {
		powers = l.symbol("powersOfTwo")
	}
	return func() {
		scale := n.scale(l.writer, l.w, powers)
		weight, common := l.by(scale), 0
		if n.min > 0 {
			common = l.everywhere(l.half(l.w, n.min))
			weight = l.affine(scale, common)
		}
		for half, q := range codes(l.w) {
			l.bytesAt(4*half, q, weight)
		}
		l.free(scale)
		if n.min > 0 {
			l.free(common)
		}
		l.next(32)
	}
}

// scale returns the scale of a block, in the lowest lane.
func (n nibbles) scale(w *writer, block, powers gp) reg {
	if !n.power {
		return w.half(block, 0)
	}
	e, v := w.gp(), w.vec()
	w.code("MOVBU (R%d), R%d", block, e)
	w.code("ADD R%d<<2, R%d, R%d", e, powers, e)
	w.op("ldr s", v, e, 0)
	w.freeGP(e)
	return v
}

// codes loads constants. It returns a function that emits the 32 elements of a block, divided by the scale, as signed bytes.
func (n nibbles) codes(w *writer) func(block gp) [2]reg {
	low := w.all(15)
	var table, less, sources, bits, sixteen reg
	if n.table != nil {
		table = w.table(n.table)
	}
	if n.less > 0 {
		less = w.all(n.less)
	}
	if n.qh > 0 {
		sources, bits = w.bitSources()
		sixteen = w.all(16)
	}
	return func(block gp) (q [2]reg) {
		q[0], q[1] = w.loaded("q", block, n.qs), w.vec()
		w.op("ushr 16b", q[1], q[0], 4)
		w.op("and", q[0], q[0], low)
		for half, v := range q {
			if n.qh > 0 { // 16 where the fifth bit is set
				t := w.loaded("h", block, n.qh+2*half)
				w.op("tbl", t, t, sources)
				w.op("cmtst 16b", t, t, bits)
				w.op("and", t, t, sixteen)
				w.op("orr", v, v, t)
				w.free(t)
			}
			if n.less > 0 {
				w.op("sub 16b", v, v, less)
			}
			if n.table != nil {
				w.op("tbl", v, table, v)
			}
		}
		return q
	}
}

// bitSources returns two constants that select one bit per byte from a word of 16 bits: the TBL order that copies
// the bit's byte (0 or 1), and the mask of the bit.
func (w *writer) bitSources() (sources, bits reg) {
	sources = w.bytes("bitSource", append(repeat(8, byte(0)), repeat(8, byte(1))...)...)
	return sources, w.bytes("bitOfByte", 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128)
}

// q8_0 is the loop of Q8_0: a float16 scale, then 32 signed bytes.
func q8_0(l *loop) func() {
	return func() {
		scale := l.half(l.w, 0)
		for half := range 2 {
			l.bytesAt(4*half, l.loaded("q", l.w, 2+16*half), l.by(scale))
		}
		l.free(scale)
		l.next(32)
	}
}

// nvfp4 returns begin of NVFP4: four scale bytes, then 8 bytes of nibbles for each sub-block of 16 elements. Byte
// i of a sub-block has element i in its low nibble and element 8+i in its high nibble. head is the size of what
// precedes the scales: 0, or 4 for a float32 that multiplies all scales of the block.
func nvfp4(head int) func(l *loop) func() {
	return func(l *loop) func() { return l.nvfp4(head) }
}

// nvfp4 emits the loop of NVFP4.
func (l *loop) nvfp4(head int) func() {
	block := l.blockNVFP4(head)
	return func() {
		for sub := range 4 {
			q, scale := block(l.w, sub)
			l.bytesAt(4*sub, q, l.by(scale))
			l.free(scale)
		}
		l.next(64)
	}
}

// blockNVFP4 loads constants. It returns a function that emits the 16 elements of a sub-block as signed bytes, and their
// scale in the lowest lane.
func (w *writer) blockNVFP4(head int) func(block gp, sub int) (q, scale reg) {
	table, low, halves, scales := w.table(&e2m1), w.all(15), w.halvesRight4(), w.symbol("nvfp4Scales")
	return func(block gp, sub int) (q, scale reg) {
		e, from := w.gp(), w.after(block, head+4+8*sub)
		w.code("MOVBU %d(R%d), R%d", head+sub, block, e)
		w.code("ADD R%d<<2, R%d, R%d", e, scales, e)
		scale, q = w.loaded("s", e, 0), w.vec()
		if head > 0 {
			factor := w.loaded("s", block, 0)
			w.op("fmul 4s", scale, scale, factor)
			w.free(factor)
		}
		w.op("ld1r 2d", q, from)
		w.op("ushl 16b", q, q, halves)
		w.op("and", q, q, low)
		w.op("tbl", q, table, q)
		w.freeGP(e, from)
		return q, scale
	}
}

// halvesRight4 returns distances for USHL, which shifts right by a negative distance: 0 for the first eight bytes,
// 4 bits to the right for the others.
func (w *writer) halvesRight4() reg {
	return w.bytes("halvesRight4", append(repeat(8, byte(0)), repeat(8, byte(0xfc))...)...)
}

// q1_0 is the loop of Q1_0: d, then one bit for each element: 1 for d, 0 for -d. Every lane gets the same 32 bits. Eight
// masks select the bits of four elements each.
func q1_0(l *loop) func() {
	var masks [8]reg
	for i := range masks {
		b := uint32(1) << (4 * i)
		masks[i] = l.words([]string{"bits0", "bits1", "bits2", "bits3", "bits4", "bits5", "bits6", "bits7"}[i], b, 2*b, 4*b, 8*b)
	}
	return func() {
		plus, minus, from := l.everywhere(l.half(l.w, 0)), l.vec(), l.after(l.w, 2)
		l.op("fneg 4s", minus, plus)
		bits := l.vec()
		l.times(4, func() {
			l.op("ld1r 4s next", bits, from)
			for i, mask := range masks {
				v := l.vec()
				l.op("cmtst 4s", v, bits, mask)
				l.op("bsl", v, plus, minus)
				l.put(i, v)
			}
			l.next(32)
		})
		l.free(plus, minus, bits)
		l.freeGP(from)
	}
}

// q2_0 is the loop of Q2_0: d, then 16 bytes with four consecutive codes each.
func q2_0(l *loop) func() {
	codes := l.codesQ2_0()
	return func() {
		scale := l.half(l.w, 0)
		for i := range 4 {
			l.bytesAt(4*i, codes(l.w, i), l.by(scale))
		}
		l.free(scale)
		l.next(64)
	}
}

// codesQ2_0 loads constants. It returns a function that emits 16 elements as signed bytes: it copies each byte four times, and
// shifts each copy by its own distance.
func (w *writer) codesQ2_0() func(block gp, piece int) reg {
	var picks [4]reg
	for i := range picks {
		var b []byte
		for k := range 16 {
			b = append(b, byte(4*i+k/4))
		}
		picks[i] = w.bytes([]string{"fours0", "fours1", "fours2", "fours3"}[i], b...)
	}
	shifts := w.bytes("right0246", slices.Repeat([]byte{0, 0xfe, 0xfc, 0xfa}, 4)...)
	three, one := w.all(3), w.all(1)
	return func(block gp, piece int) reg {
		q := w.loaded("q", block, 2)
		w.op("tbl", q, q, picks[piece])
		w.op("ushl 16b", q, q, shifts)
		w.op("and", q, q, three)
		w.op("sub 16b", q, q, one)
		return q
	}
}
