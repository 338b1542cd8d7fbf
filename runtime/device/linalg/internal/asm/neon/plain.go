package neon

import "fmt"

// plain is a format of one-element blocks (F32, F16, BF16). load loads four elements as floats.
type plain struct {
	name string
	size int // bytes of an element
	load func(w *writer, base gp, offset int) reg
}

// plainFormats are the formats of one-element blocks.
var plainFormats = []plain{
	{"F32", 4, func(w *writer, base gp, offset int) reg { return w.loaded("q", base, offset) }},
	{"F16", 2, func(w *writer, base gp, offset int) reg {
		v := w.loaded("d", base, offset)
		w.op("fcvtl 4s", v, v)
		return v
	}},
	{"BF16", 2, func(w *writer, base gp, offset int) reg {
		v := w.loaded("d", base, offset)
		w.op("shll 4s", v, v)
		return v
	}},
}

// plainStep is the number of elements of a step.
const plainStep = 32

// tiles are the rows and inputs that one loop multiplies. Their running sums are in registers.
var tiles = []struct{ rows, inputs int }{{1, 1}, {2, 3}, {2, 2}}

// plain emits the loops of a format: the rowFunc and the tileFuncs.
func (w *writer) plain(p plain) {
	for _, t := range tiles {
		name := fmt.Sprintf("dot%s_%dx%dNEON", p.name, t.rows, t.inputs)
		if t.rows == 1 {
			name = "dot" + p.name + "NEON"
			w.begin(name, signatureRow, 0, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, p.name, plainStep))
		} else {
			w.begin(name, signatureTile, 0, fmt.Sprintf("%s is the tileFunc of %s for %d × %d in steps of %d elements.",
				name, p.name, t.rows, t.inputs, plainStep))
		}
		rows, inputs := w.tile(t.rows, t.inputs)
		steps := w.param("steps")
		sums := make([][][]reg, t.rows)
		for r := range sums {
			for range t.inputs {
				sums[r] = append(sums[r], w.zeros(chains))
			}
		}
		w.until(steps, 1, func() {
			for i := range plainStep / 4 {
				var weights []reg
				for _, row := range rows {
					weights = append(weights, p.load(w, row, 4*p.size*i))
				}
				for j, input := range inputs {
					x := w.loaded("q", input, 16*i)
					for r, v := range weights {
						w.op("fmla 4s", sums[r][j][i%chains], v, x)
					}
					w.free(x)
				}
				w.free(weights...)
			}
			for _, row := range rows {
				w.add(row, plainStep*p.size)
			}
			for _, input := range inputs {
				w.add(input, plainStep*4)
			}
		})
		if t.rows == 1 {
			w.result(w.total(sums[0][0]))
		} else {
			w.storeTile(sums, w.total)
		}
		w.end()
	}
}

// tile loads arguments of a rowFunc or a tileFunc. It returns the addresses of the rows and of the inputs.
func (w *writer) tile(rows, inputs int) (ws, xs []gp) {
	ws = append(ws, w.param("w"))
	if rows == 1 {
		return ws, []gp{w.param("x")}
	}
	stride, all := w.param("stride"), w.param("xs")
	for range rows - 1 {
		r := w.gp()
		w.code("ADD R%d, R%d, R%d", stride, ws[len(ws)-1], r)
		ws = append(ws, r)
	}
	for j := range inputs {
		x := w.gp()
		w.code("MOVD %d(R%d), R%d", sliceBytes*j, all, x)
		xs = append(xs, x)
	}
	w.freeGP(stride, all)
	return ws, xs
}

// sliceBytes is the size of a []float32; its first word points to the floats.
const sliceBytes = 24

// storeTile writes the results of a tileFunc. total adds up the running sums of a row and an input.
func (w *writer) storeTile(sums [][][]reg, total func([]reg) reg) {
	ys, row := w.param("ys"), w.param("row")
	for j := range sums[0] {
		y := w.gp()
		w.code("MOVD %d(R%d), R%d", sliceBytes*j, ys, y)
		w.code("ADD R%d<<2, R%d", row, y)
		for r := range sums {
			w.op("str s", total(sums[r][j]), y, 4*r)
		}
		w.freeGP(y)
	}
}
