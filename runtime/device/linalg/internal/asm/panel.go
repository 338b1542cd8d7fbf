package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loops for many inputs. They decode weights once to a panel of floats, and then multiply the
// panel by all inputs. A panel has isa.panelRows rows. Vector v of all rows comes before
// vector v+1 of any row; for two rows:
//
//	row 0, vector 0 | row 1, vector 0 | row 0, vector 1 | row 1, vector 1 | …
//
// In folded formats the scales of all rows follow the vectors that share them (a group), and then the
// common values (minima), if the format has these.

// panelInputs are the numbers of inputs that one panelFunc takes. Running sums, vectors of the
// panel and a vector of an input fill the registers.
var panelInputs = []int{6, 4}

// panelKind is the layout of a panel, and of the inputs that belong to it.
type panelKind struct {
	name     string
	vectors  int  // in a group; 0: weights are scaled already, and nothing follows a vector
	arranged bool // sums of the inputs follow every group of their vectors
	common   bool // common values follow the scales; they multiply the sums of the inputs
}

var (
	scaledPanel = panelKind{}
	panelKinds2 = []panelKind{
		{name: "Single", vectors: 4},
		{name: "SingleSums", vectors: 4, arranged: true},
		{name: "SingleMin", vectors: 4, arranged: true, common: true},
		{name: "PairsSums", vectors: 8, arranged: true},
		{name: "PairsMin", vectors: 8, arranged: true, common: true},
	}
)

// following returns the number of vectors, per row, that follow a group.
func (k panelKind) following() int {
	switch {
	case k.vectors == 0:
		return 0
	case k.common:
		return 2
	}
	return 1
}

// panel is where a loop stores the weights of a step instead of multiplying them.
type panel struct {
	reg.Register
	rows, lanes int
	panelKind
}

// at returns the memory of vector v of a step.
func (p *panel) at(v int) operand.Mem {
	if p.vectors > 0 {
		v += v / p.vectors * p.following()
	}
	return at(p.Register, p.rows*4*p.lanes*v)
}

// scaleAt returns the memory of the scales of group i of a step.
func (p *panel) scaleAt(i int) operand.Mem {
	return at(p.Register, p.rows*4*p.lanes*(i*(p.vectors+p.following())+p.vectors))
}

// bytes returns the number of bytes of elems elements of all rows.
func (p *panel) bytes(elems int) int {
	n := elems / p.lanes
	if p.vectors > 0 {
		n += n / p.vectors * p.following()
	}
	return p.rows * 4 * p.lanes * n
}

// Signatures of the Go types decodeFunc and panelFunc.
const (
	signatureDecode = "func(w *byte, steps int, panel *float32)"
	signaturePanel  = "func(panel *float32, xs *[]float32, offset, groups int, sums *float32)"
)

// decode emits the function that writes one row of a panel. The numbers are those that the
// mat-vec loops of the format multiply.
func (g *gen) decode(v isa, f format, k panelKind) { g.decodeTo(v, f, v.panelRows, k) }

// decodeRow emits the function that writes a row as floats: a panel with one row.
func (g *gen) decodeRow(v isa, f format) { g.decodeTo(v, f, 1, scaledPanel) }

// decodeTo emits a decode function for panels of some rows and one kind.
func (g *gen) decodeTo(v isa, f format, rows int, k panelKind) {
	name := fmt.Sprintf("decode%s%s", f.name, v.suffix)
	g.begin(name, signatureDecode, fmt.Sprintf("%s is the decodeFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop{gen: g, isa: v, format: f, panel: &panel{g.param("panel"), rows, v.lanes, k}}
	l.addRows(0, 1)
	l.run()
	g.end()
}

// tileOfPanel is the state of a panelFunc.
type tileOfPanel struct {
	*gen
	isa
	panelKind
	weights, kept reg.Register     // addresses of the panel and of the running sums
	xs            []reg.Register   // addresses of the inputs
	sums          []reg.VecVirtual // of row r and input j at panelRows·j + r
}

// panelLoop emits the function that multiplies a panel by some inputs, and adds the products
// to running sums in memory. A sum takes its terms in the order of the mat-vec loops.
func (g *gen) panelLoop(v isa, k panelKind, inputs int) {
	const slice = 24 // bytes of a []float32; its first word points to the floats
	name := fmt.Sprintf("panel%s%dx%d%s", k.name, v.panelRows, inputs, v.suffix)
	g.begin(name, signaturePanel, fmt.Sprintf("%s is the panelFunc of %d rows and %d inputs.", name, v.panelRows, inputs))
	t := &tileOfPanel{gen: g, isa: v, panelKind: k, weights: g.param("panel"), kept: g.param("sums")}
	all, offset := g.param("xs"), g.param("offset")
	for j := range inputs {
		x := g.GP64()
		g.MOVQ(at(all, slice*j), x)
		g.ADDQ(offset, x)
		t.xs = append(t.xs, x)
	}
	n := g.param("groups")
	if k.vectors == 0 {
		t.sums = g.loadRow(v, t.kept, v.panelRows*inputs)
	}
	g.Label("group")
	bytes := 4 * v.lanes
	if k.vectors == 0 {
		t.multiply(0)
	} else {
		bytes = t.partials()
	}
	for _, x := range t.xs {
		g.ADDQ(operand.U32(bytes), x)
	}
	g.ADDQ(operand.U32(v.panelRows*4*v.lanes*(max(k.vectors, 1)+k.following())), t.weights)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("group"))
	if k.vectors == 0 {
		t.store()
	}
	g.end()
}

// multiply adds the products of vector i of a group to t.sums, or starts the sums with them.
func (t *tileOfPanel) multiply(i int) {
	vector := 4 * t.lanes
	var ws []reg.VecVirtual
	for r := range t.panelRows {
		w := t.vector(t.gen)
		t.VMOVUPS(at(t.weights, vector*(t.panelRows*i+r)), w)
		ws = append(ws, w)
	}
	for j, p := range t.xs {
		x := t.vector(t.gen)
		t.VMOVUPS(at(p, vector*i), x)
		for r, w := range ws {
			if k := t.panelRows*j + r; k < len(t.sums) {
				t.VFMADD231PS(x, w, t.sums[k])
			} else {
				sum := t.vector(t.gen)
				t.VMULPS(x, w, sum)
				t.sums = append(t.sums, sum)
			}
		}
	}
}

// partials computes the partial sums of a group and adds them, scaled, to the running sums in memory, as
// partial.fold does. It returns the bytes of each input that a group takes.
func (t *tileOfPanel) partials() int {
	vector := 4 * t.lanes
	t.sums = nil
	if t.arranged && !t.common {
		for _, x := range t.xs {
			for range t.panelRows {
				sum := t.vector(t.gen)
				t.VMOVUPS(at(x, vector*t.panelKind.vectors), sum)
				t.sums = append(t.sums, sum)
			}
		}
	}
	for i := range t.panelKind.vectors {
		t.multiply(i)
	}
	scales := at(t.weights, vector*t.panelRows*t.panelKind.vectors)
	for r := range t.panelRows {
		scale, common := t.vector(t.gen), t.vector(t.gen)
		t.VMOVUPS(scales.Offset(vector*r), scale)
		if t.common {
			t.VMOVUPS(scales.Offset(vector*(t.panelRows+r)), common)
		}
		for j, x := range t.xs {
			sum := t.sums[t.panelRows*j+r]
			t.VFMADD213PS(at(t.kept, vector*(t.panelRows*j+r)), scale, sum)
			if t.common {
				t.VFMADD231PS(at(x, vector*t.panelKind.vectors), common, sum)
			}
		}
	}
	t.store()
	if t.arranged {
		return vector * (t.panelKind.vectors + 1)
	}
	return vector * t.panelKind.vectors
}

// store writes t.sums to memory.
func (t *tileOfPanel) store() {
	for i, sum := range t.sums {
		t.VMOVUPS(sum, at(t.kept, 4*t.lanes*i))
	}
}

// sumPanel emits the function that adds up the 16 lanes of each running sum of a panel, in the
// order of sumZMM.
func (g *gen) sumPanel() {
	const rows = 4
	const name = "sumLanesAVX512"
	g.begin(name, "func(sums *float32, n int)",
		fmt.Sprintf("%s replaces n times four sums, of 16 lanes each, by as many floats.", name))
	from, n := g.param("sums"), g.param("n")
	to := g.copyOf(from)
	g.Label("four")
	var v [rows]reg.VecVirtual
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
	g.ADDQ(operand.U32(64*rows), from)
	g.ADDQ(operand.U32(4*rows), to)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("four"))
	g.end()
}
