package neon

import "fmt"

// chains is the number of registers that hold the running sums of a row and an input. Additions to one
// register do not wait for those to another.
const chains = 4

// Signatures of the Go types rowFunc, decodeFunc and tileFunc.
const (
	signatureRow    = "func(w *byte, x *float32, steps int) float32"
	signatureDecode = "func(w *byte, steps int, panel *float32)"
	signatureTile   = "func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)"
)

// format describes the loops of a format of blocks.
type format struct {
	name         string
	elems, bytes int  // of a block
	frame        int  // float32 values on the stack
	words        bool // weights are made without spread, so its constants are not loaded
	// begin emits the code before the loop, which loads constants. It returns the function that emits one block.
	begin func(l *loop) func()
}

// loop is a loop over the blocks of a row. It multiplies weights by x, or stores them at x. The register x
// advances with the weights.
type loop struct {
	*writer
	w, x   gp
	sums   []reg // running sums; nil: weights are stored
	places []reg // constants of spread, see loadPlaces
}

// row emits the rowFunc of a format.
func (w *writer) row(f format) {
	name := "dot" + f.name + "NEON"
	w.begin(name, signatureRow, 4*f.frame, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{writer: w, w: w.param("w"), x: w.param("x"), sums: w.zeros(chains)}
	l.run(f)
	w.result(w.total(l.sums))
	w.end()
}

// decode emits the decodeFunc of a format.
func (w *writer) decode(f format) {
	name := "decode" + f.name + "NEON"
	w.begin(name, signatureDecode, 4*f.frame, fmt.Sprintf("%s is the decodeFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{writer: w, w: w.param("w"), x: w.param("panel")}
	l.run(f)
	w.end()
}

// run emits the loop.
func (l *loop) run(f format) {
	steps := l.param("steps")
	if !f.words {
		l.places = l.loadPlaces()
	}
	block := f.begin(l)
	l.until(steps, 1, func() {
		block()
		l.add(l.w, f.bytes)
	})
}

// zeros returns n registers that are zero.
func (w *writer) zeros(n int) []reg {
	list := w.vecs(n)
	for _, v := range list {
		w.op("zero", v)
	}
	return list
}

// total adds up the running sums of a row and an input. The lowest lane of the result has the sum.
func (w *writer) total(sums []reg) reg {
	w.op("fadd 4s", sums[0], sums[0], sums[1])
	w.op("fadd 4s", sums[2], sums[2], sums[3])
	w.op("fadd 4s", sums[0], sums[0], sums[2])
	w.op("faddp 4s", sums[0], sums[0], sums[0])
	w.op("faddp s", sums[0], sums[0])
	return sums[0]
}

// put multiplies four weights by the i-th four floats at x, or stores them there. It frees v.
func (l *loop) put(i int, v reg) {
	if l.sums == nil {
		l.op("str q", v, l.x, 16*i)
	} else {
		x := l.loaded("q", l.x, 16*i)
		l.op("fmla 4s", l.sums[i%chains], v, x)
		l.free(x)
	}
	l.free(v)
}

// next advances x by elems floats.
func (l *loop) next(elems int) { l.add(l.x, 4*elems) }

// scaling turns four integers into weights, in the same register.
type scaling func(v reg)

// by returns the scaling v·scale; scale is the lowest lane of a register.
func (l *loop) by(scale reg) scaling { return func(v reg) { l.op("fmul by", v, v, scale) } }

// affine returns the scaling v·scale + common; scale is the lowest lane of a register, common has the same value in all lanes.
func (l *loop) affine(scale, common reg) scaling {
	return func(v reg) {
		t := l.vec()
		l.op("mov", t, common)
		l.op("fmla by", t, v, scale)
		l.op("mov", v, t)
		l.free(t)
	}
}

// loadPlaces loads the constants of spread: TBL with register j moves byte 4j+k of a vector to the highest byte
// of word k, and sets the other bytes to 0.
func (w *writer) loadPlaces() (places []reg) {
	for j := range 4 {
		var b []byte
		for k := range 4 {
			b = append(b, 0xff, 0xff, 0xff, byte(4*j+k)) // 0xff picks a zero
		}
		places = append(places, w.bytes(fmt.Sprintf("place%d", j), b...))
	}
	return places
}

// spread converts the 16 signed bytes of q to floats. It calls do(j, v) for bytes 4j to 4j+3.
func (l *loop) spread(q reg, do func(j int, v reg)) {
	for j, place := range l.places {
		v := l.vec()
		l.op("tbl", v, q, place)
		l.op("scvtf fix", v, v, 24) // the byte in bits 24–31 is 2^24 times too large
		do(j, v)
	}
}

// bytesAt converts the 16 signed bytes of q to weights and puts them from vector i on. It frees q.
func (l *loop) bytesAt(i int, q reg, scale scaling) {
	l.spread(q, func(j int, v reg) {
		scale(v)
		l.put(i+j, v)
	})
	l.free(q)
}

// stack returns a register with the address of the function's floats on the stack.
func (w *writer) stack() gp {
	r := w.gp()
	w.toStack(r, 0)
	return r
}

// toStack sets r to the address of a byte offset in the function's floats on the stack.
func (w *writer) toStack(r gp, offset int) {
	w.code("ADD $%d, RSP, R%d", 8+offset, r) // the saved link register is at RSP
}

// keep stores the 16 signed bytes of q, times the lowest lane of scale, as 16 floats. It frees q.
func (l *loop) keep(q, scale reg, at gp, offset int) {
	l.spread(q, func(j int, v reg) {
		l.op("fmul by", v, v, scale)
		l.op("str q", v, at, offset+16*j)
		l.free(v)
	})
	l.free(q)
}
