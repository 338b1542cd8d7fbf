package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loops for many inputs: weights are decoded once to a panel of floats, which is then
// multiplied by all inputs. A panel has panelRows rows, vector by vector: of every vector
// those of all rows lie side by side.

const panelRows = 4

// panelInputs are the numbers of inputs that a panel is multiplied by at once. Sums,
// vectors of a panel and one of an input fill the registers.
var panelInputs = []int{6, 4}

// The Go types decodeFunc and panelFunc.
const (
	signatureDecode = "func(w *byte, steps int, panel *float32)"
	signaturePanel  = "func(panel *float32, xs *[]float32, offset, vectors int, sums *float32)"
)

// decode emits the function that writes one row of a panel, with the numbers that the
// mat-vec loops of a format multiply.
func (g *gen) decode(v isa, f format) {
	name := fmt.Sprintf("decode%s%s", f.name, v.suffix)
	g.begin(name, signatureDecode, fmt.Sprintf("%s is the decodeFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, panel: g.param("panel")}
	l.addRows(1)
	l.run()
	g.end()
}

// panelLoop emits the function that adds the products of a panel and some inputs to their
// sums in memory: those of an input's rows lie side by side. A sum takes its terms in the
// order of the mat-vec loops.
func (g *gen) panelLoop(v isa, inputs int) {
	const slice = 24 // bytes of a []float32; its first word points to the floats
	name := fmt.Sprintf("panel%dx%d%s", panelRows, inputs, v.suffix)
	g.begin(name, signaturePanel, fmt.Sprintf("%s is the panelFunc of %d inputs.", name, inputs))
	panel, kept := g.param("panel"), g.param("sums")
	all, offset := g.param("xs"), g.param("offset")
	var xs []reg.Register
	for j := range inputs {
		x := g.GP64()
		g.MOVQ(at(all, slice*j), x)
		g.ADDQ(offset, x)
		xs = append(xs, x)
	}
	n := g.param("vectors")
	sums := g.loadRow(v, kept, panelRows*inputs)
	g.Label("vector")
	ws := g.loadRow(v, panel, panelRows)
	for j, p := range xs {
		x := v.vector(g)
		g.VMOVUPS(at(p, 0), x)
		for r, w := range ws {
			g.VFMADD231PS(x, w, sums[panelRows*j+r])
		}
		g.ADDQ(operand.U32(4*v.lanes), p)
	}
	g.ADDQ(operand.U32(panelRows*4*v.lanes), panel)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("vector"))
	for i, sum := range sums {
		g.VMOVUPS(sum, at(kept, 4*v.lanes*i))
	}
	g.end()
}

// sumPanel emits the function that adds up the lanes of the sums of a panel, in the order
// of sumZMM.
func (g *gen) sumPanel() {
	const name = "sumLanesAVX512"
	g.begin(name, "func(sums *float32, n int)",
		fmt.Sprintf("%s replaces n times sums of %d rows, of 16 lanes each, by as many floats.", name, panelRows))
	from, n := g.param("sums"), g.param("n")
	to := g.copyOf(from)
	g.Label("input")
	var v [panelRows]reg.VecVirtual
	for r := range v {
		v[r] = g.YMM()
		high := g.XMM()
		g.VMOVUPS(at(from, 64*r), v[r])
		g.VADDPS(at(from, 64*r+32), v[r], v[r])
		g.VEXTRACTF128(operand.U8(1), v[r], high)
		g.VADDPS(v[r].AsX(), high, v[r].AsX())
	}
	sums := g.addLanes(v)
	g.VMOVUPS(sums.AsX(), at(to, 0))
	g.ADDQ(operand.U32(64*panelRows), from)
	g.ADDQ(operand.U32(4*panelRows), to)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("input"))
	g.end()
}
