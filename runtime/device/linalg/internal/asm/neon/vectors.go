package neon

import (
	"fmt"
	"math"
)

// vectorStep is the number of elements of an iteration: VectorStep of package linalg. expStep is smaller, because the loop of
// exponentials has many instructions per element.
const vectorStep, expStep = 32, 8

// vectorLoops emits the functions of vectorLoops of package linalg.
func (w *writer) vectorLoops() {
	w.dotLoop()
	w.elementLoop("axpy", "func(dst *float32, a float32, x *float32, n int)", "adds a·x to n floats, rounding the products.", vectorStep, (*writer).axpy)
	w.elementLoop("fade", "func(dst, keep *float32, a float32, x *float32, n int)", "multiplies n floats by keep and adds a·x, rounding the products.", vectorStep, (*writer).fade)
	w.elementLoop("scale", "func(dst *float32, a float32, n int)", "multiplies n floats by a.", vectorStep, (*writer).scaleBy)
	w.elementLoop("widen", "func(dst *float32, src *uint16, n int)", "converts n halves to floats.", vectorStep, (*writer).widen)
	w.elementLoop("round", "func(dst *uint16, src *float32, n int)", "rounds n floats to halves, ties to even.", vectorStep, (*writer).round)
	w.elementLoop("scaled", "func(dst *float32, src *byte, scales *uint16, n int)", "multiplies n signed bytes by the scales of their blocks of 32.", vectorStep, (*writer).scaled)
	w.elementLoop("exp", "func(x *float32, n int)", "replaces n floats by their exponentials.", expStep, (*writer).exp)
}

// elementLoop emits a function over n elements. begin loads the arguments, and returns the function that emits one
// iteration of some elements.
func (w *writer) elementLoop(name, signature, doc string, elements int, begin func(*writer) func()) {
	name += "NEON"
	w.begin(name, signature, 0, name+" "+doc)
	step := begin(w)
	w.until(w.param("n"), elements, step)
	w.end()
}

func (w *writer) dotLoop() {
	const name = "dotVectorsNEON"
	w.begin(name, "func(a, b *float32, n int) float32", 0, name+" returns the dot product of n floats.")
	a, b := w.param("a"), w.param("b")
	sums := w.zeros(8)
	w.until(w.param("n"), vectorStep, func() {
		for i, sum := range sums {
			p, q := w.loaded("q", a, 16*i), w.loaded("q", b, 16*i)
			w.op("fmla 4s", sum, p, q)
			w.free(p, q)
		}
		w.add(a, 4*vectorStep)
		w.add(b, 4*vectorStep)
	})
	for i := range chains {
		w.op("fadd 4s", sums[i], sums[i], sums[i+chains])
	}
	w.result(w.total(sums[:chains]))
	w.end()
}

// axpy does not fuse the operations: an element has the same bits in the loop and in Go's code for the last elements.
func (w *writer) axpy() func() {
	dst, x, a := w.param("dst"), w.param("x"), w.floatParam("a")
	return func() {
		for i := range vectorStep / 4 {
			v, sum := w.loaded("q", x, 16*i), w.loaded("q", dst, 16*i)
			w.op("fmul by", v, v, a)
			w.op("fadd 4s", sum, sum, v)
			w.op("str q", sum, dst, 16*i)
			w.free(v, sum)
		}
		w.add(dst, 4*vectorStep)
		w.add(x, 4*vectorStep)
	}
}

// fade does not fuse the operations, for the same reason as axpy.
func (w *writer) fade() func() {
	dst, keep, x, a := w.param("dst"), w.param("keep"), w.param("x"), w.floatParam("a")
	return func() {
		for i := range vectorStep / 4 {
			v, kept, sum := w.loaded("q", x, 16*i), w.loaded("q", keep, 16*i), w.loaded("q", dst, 16*i)
			w.op("fmul by", v, v, a)
			w.op("fmul 4s", sum, sum, kept)
			w.op("fadd 4s", sum, sum, v)
			w.op("str q", sum, dst, 16*i)
			w.free(v, kept, sum)
		}
		for _, p := range []reg{dst, keep, x} {
			w.add(p, 4*vectorStep)
		}
	}
}

func (w *writer) scaleBy() func() {
	dst, a := w.param("dst"), w.floatParam("a")
	return func() {
		for i := range vectorStep / 4 {
			v := w.loaded("q", dst, 16*i)
			w.op("fmul by", v, v, a)
			w.op("str q", v, dst, 16*i)
			w.free(v)
		}
		w.add(dst, 4*vectorStep)
	}
}

func (w *writer) widen() func() {
	dst, src := w.param("dst"), w.param("src")
	return func() {
		for i := range vectorStep / 8 {
			v, low := w.loaded("q", src, 16*i), w.vec()
			w.op("fcvtl 4s", low, v)
			w.op("fcvtl2 4s", v, v)
			w.op("stp q", low, v, dst, 32*i)
			w.free(v, low)
		}
		w.add(dst, 4*vectorStep)
		w.add(src, 2*vectorStep)
	}
}

func (w *writer) round() func() {
	dst, src := w.param("dst"), w.param("src")
	return func() {
		for i := range vectorStep / 8 {
			v, high := w.vec(), w.vec()
			w.op("ldp q", v, high, src, 32*i)
			w.op("fcvtn 4h", v, v)
			w.op("fcvtn2 8h", v, high)
			w.op("str q", v, dst, 16*i)
			w.free(v, high)
		}
		w.add(dst, 2*vectorStep)
		w.add(src, 4*vectorStep)
	}
}

// scaled takes one block of 32 bytes, and so one scale, per iteration.
func (w *writer) scaled() func() {
	l := &loop{writer: w, w: w.param("src"), x: w.param("dst"), places: w.loadPlaces()}
	scales := w.param("scales")
	return func() {
		scale := w.half(scales, 0)
		for half := range 2 {
			l.bytesAt(4*half, w.loaded("q", l.w, 16*half), l.by(scale))
		}
		w.free(scale)
		w.add(scales, 2)
		w.add(l.w, vectorStep)
		l.next(vectorStep)
	}
}

// exp emits e^x with an error below two units in the last place. It splits the argument into x = k·ln2 + r with
// |r| ≤ ln2/2. e^r is the Taylor polynomial of degree 7, whose remainder is below 6e-9. The result is multiplied by
// 2^k in two steps of about 2^(k/2), so that it rounds to subnormal numbers, 0 and infinity without special cases.
func (w *writer) exp() func() {
	x := w.param("x")
	ln2High := float32(math.Ln2)
	low, high := w.float(-104), w.float(89) // e^x rounds to 0 below and to infinity above
	log2e, shift, one := w.float(math.Log2E), w.float(0x1.8p23), w.float(1)
	ln2, ln2Rest := w.float(ln2High), w.float(float32(math.Ln2-float64(ln2High)))
	var taylor []reg
	for _, c := range []float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1} {
		taylor = append(taylor, w.float(c))
	}
	taylor = append(taylor, one)
	return func() {
		for i := range expStep / 4 {
			r, k, p, t := w.loaded("q", x, 16*i), w.vec(), w.vec(), w.vec()
			w.op("fmax 4s", r, r, low) // NaN stays NaN
			w.op("fmin 4s", r, r, high)
			// Adding 1.5·2^23 rounds log2e·r to an integer, and leaves the integer in the low bits of the float.
			w.op("mov", k, shift)
			w.op("fmla 4s", k, r, log2e)
			w.op("fsub 4s", t, k, shift)
			w.op("fmls 4s", r, t, ln2)
			w.op("fmls 4s", r, t, ln2Rest)
			w.op("mov", p, taylor[0])
			for _, c := range taylor[1:] {
				w.op("mov", t, c)
				w.op("fmla 4s", t, p, r)
				p, t = t, p
			}
			w.op("sub 4s", k, k, shift)
			w.op("sshr 4s", t, k, 1)
			w.op("sub 4s", k, k, t)
			for _, e := range []reg{t, k} {
				w.op("shl 4s", e, e, 23)
				w.op("add 4s", e, e, one)
				w.op("fmul 4s", p, p, e)
			}
			w.op("str q", p, x, 16*i)
			w.free(r, k, p, t)
		}
		w.add(x, 4*expStep)
	}
}

// productShapes are the blocks of the result that a loop keeps in registers: rows, and vectors of a row. For each term of the
// sums the loop loads the vectors of a row of b once, and one number of a per row.
var productShapes = []struct{ rows, vectors int }{{4, 4}, {1, 4}}

// signatureProduct is the signature of the Go type productFunc.
const signatureProduct = "func(c *float32, cRow int, a *float32, aRow, aCol int, b *float32, bRow, n, k int)"

// productLoop emits the function that adds a product of matrices to some rows of c.
func (w *writer) productLoop(s struct{ rows, vectors int }) {
	cols := 4 * s.vectors
	name := fmt.Sprintf("product%dx%dNEON", s.rows, cols)
	w.begin(name, signatureProduct, 0, fmt.Sprintf("%s is the productFunc of %d rows and multiples of %d columns.", name, s.rows, cols))
	c, cRow, aRow, aCol := w.param("c"), w.param("cRow"), w.param("aRow"), w.param("aCol")
	b, bRow := w.param("b"), w.param("bRow")
	row := w.gp()
	eachSum := func(sums []reg, do func(v reg, offset int)) {
		w.code("MOVD R%d, R%d", c, row)
		for i, v := range sums {
			if i > 0 && i%s.vectors == 0 {
				w.code("ADD R%d, R%d", cRow, row)
			}
			do(v, 16*(i%s.vectors))
		}
	}
	sums := w.vecs(s.rows * s.vectors)
	w.until(w.param("n"), cols, func() {
		eachSum(sums, func(v reg, offset int) { w.op("ldr q", v, row, offset) })
		as := []gp{w.param("a")}
		for range s.rows - 1 {
			next := w.gp()
			w.code("ADD R%d, R%d, R%d", aRow, as[len(as)-1], next)
			as = append(as, next)
		}
		term, k := w.after(b, 0), w.param("k")
		w.until(k, 1, func() {
			var xs []reg
			for j := range s.vectors {
				xs = append(xs, w.loaded("q", term, 16*j))
			}
			for i, at := range as {
				f := w.loaded("s", at, 0)
				for j, x := range xs {
					w.op("fmla by", sums[s.vectors*i+j], x, f)
				}
				w.free(f)
				w.code("ADD R%d, R%d", aCol, at)
			}
			w.free(xs...)
			w.code("ADD R%d, R%d", bRow, term)
		})
		eachSum(sums, func(v reg, offset int) { w.op("str q", v, row, offset) })
		w.freeGP(as...)
		w.freeGP(term, k)
		w.add(c, 4*cols)
		w.add(b, 4*cols)
	})
	w.end()
}
