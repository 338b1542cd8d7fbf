package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set as the loops over floats see it: the same instruction names, with
// registers of one width.
type isa struct {
	suffix    string
	lanes     int
	vector    func(*gen) reg.VecVirtual
	sum       func(*gen, reg.VecVirtual) reg.VecVirtual
	shapes    []productShape
	chains    int    // running sums of a row and an input, in formats that are not folded
	tiles     []tile // of formats that are not folded
	folded    []tile // of folded formats
	panelRows int    // rows of a panel
	// Bitwise operations on registers of any width, including registers 16 to 31 of AVX-512.
	and, or func(g *gen, a, b, dst operand.Op)
}

var (
	avx512 = isa{
		suffix: "AVX512", lanes: 16,
		vector:    func(g *gen) reg.VecVirtual { return g.ZMM() },
		sum:       (*gen).sumZMM,
		shapes:    shapes512,
		chains:    1, // so that the mat-vec loops and the panel loops, which lack registers for more, add in one order
		tiles:     []tile{{2, 4}, {2, 2}},
		panelRows: 4,
		and:       func(g *gen, a, b, dst operand.Op) { g.VPANDD(a, b, dst) },
		or:        func(g *gen, a, b, dst operand.Op) { g.VPORD(a, b, dst) },
	}
	avx2 = isa{
		suffix: "AVX2", lanes: 8,
		vector:    func(g *gen) reg.VecVirtual { return g.YMM() },
		sum:       func(g *gen, v reg.VecVirtual) reg.VecVirtual { return g.sumYMM(v) },
		shapes:    shapes2,
		chains:    2, // two sums hide the latency of the additions
		tiles:     []tile{{1, 4}, {2, 2}},
		folded:    []tile{{2, 2}},
		panelRows: 2,
		and:       func(g *gen, a, b, dst operand.Op) { g.VPAND(a, b, dst) },
		or:        func(g *gen, a, b, dst operand.Op) { g.VPOR(a, b, dst) },
	}
)

// vectorStep is the number of elements of an iteration: VectorStep of package linalg.
const vectorStep = 32

// vectorLoops emits the loops over floats for one instruction set.
func (g *gen) vectorLoops(v isa) {
	g.dotLoop(v)
	g.axpyLoop(v)
	g.fadeLoop(v)
	g.scaleLoop(v)
	g.widenLoop(v)
	g.roundLoop(v)
	g.scaledLoop(v)
	g.expLoop(v)
}

// pointer is an argument that points to elements of size bytes.
type pointer struct {
	reg  reg.Register
	size int
}

// at returns the memory of element i of the iteration.
func (p pointer) at(i int) operand.Mem { return at(p.reg, i*p.size) }

// pointer loads an argument that points to elements of size bytes.
func (g *gen) pointer(name string, size int) pointer {
	return pointer{reg: g.param(name), size: size}
}

// each emits the loop over n elements. body(i) emits the work on one vector, which begins at
// element i of the iteration. The pointers advance after every iteration.
func (g *gen) each(v isa, pointers []pointer, body func(i int)) {
	n := g.param("n")
	g.Label("step")
	for i := 0; i < vectorStep; i += v.lanes {
		body(i)
	}
	for _, p := range pointers {
		g.ADDQ(operand.U32(vectorStep*p.size), p.reg)
	}
	g.SUBQ(operand.U32(vectorStep), n)
	g.JNZ(operand.LabelRef("step"))
}

// factor returns the float argument a in all lanes.
func (g *gen) factor(v isa) reg.VecVirtual {
	a, all := g.XMM(), v.vector(g)
	g.Load(g.Param("a"), a)
	g.VBROADCASTSS(a, all)
	return all
}

// dotLoop emits the dot product of two vectors. An iteration adds to several sums.
func (g *gen) dotLoop(v isa) {
	g.begin("dotVectors"+v.suffix, "func(a, b *float32, n int) float32",
		"dotVectors"+v.suffix+" returns the dot product of n floats.")
	a, b := g.pointer("a", 4), g.pointer("b", 4)
	sums := make([]reg.VecVirtual, vectorStep/v.lanes)
	for i := range sums {
		sums[i] = v.vector(g)
		g.VXORPS(sums[i], sums[i], sums[i])
	}
	g.each(v, []pointer{a, b}, func(i int) {
		t := v.vector(g)
		g.VMOVUPS(a.at(i), t)
		g.VFMADD231PS(b.at(i), t, sums[i/v.lanes])
	})
	for n := len(sums) / 2; n > 0; n /= 2 {
		for i := range n {
			g.VADDPS(sums[i+n], sums[i], sums[i])
		}
	}
	g.Store(v.sum(g, sums[0]), g.ReturnIndex(0))
	g.end()
}

// axpyLoop emits dst += a·x.
func (g *gen) axpyLoop(v isa) {
	g.begin("axpy"+v.suffix, "func(dst *float32, a float32, x *float32, n int)",
		"axpy"+v.suffix+" adds a·x to n floats, rounding the products.")
	dst, x, a := g.pointer("dst", 4), g.pointer("x", 4), g.factor(v)
	g.each(v, []pointer{dst, x}, func(i int) {
		// Not fused: an element has the same bits in the loop and in Go's tail.
		t := v.vector(g)
		g.VMULPS(x.at(i), a, t)
		g.VADDPS(dst.at(i), t, t)
		g.VMOVUPS(t, dst.at(i))
	})
	g.end()
}

// fadeLoop emits dst = keep·dst + a·x, with both products rounded.
func (g *gen) fadeLoop(v isa) {
	g.begin("fade"+v.suffix, "func(dst, keep *float32, a float32, x *float32, n int)",
		"fade"+v.suffix+" multiplies n floats by keep and adds a·x, rounding the products.")
	dst, keep, x, a := g.pointer("dst", 4), g.pointer("keep", 4), g.pointer("x", 4), g.factor(v)
	g.each(v, []pointer{dst, keep, x}, func(i int) {
		t, kept := v.vector(g), v.vector(g)
		g.VMULPS(x.at(i), a, t)
		g.VMOVUPS(keep.at(i), kept)
		g.VMULPS(dst.at(i), kept, kept)
		g.VADDPS(t, kept, kept)
		g.VMOVUPS(kept, dst.at(i))
	})
	g.end()
}

// scaleLoop emits dst *= a.
func (g *gen) scaleLoop(v isa) {
	g.begin("scale"+v.suffix, "func(dst *float32, a float32, n int)",
		"scale"+v.suffix+" multiplies n floats by a.")
	dst, a := g.pointer("dst", 4), g.factor(v)
	g.each(v, []pointer{dst}, func(i int) {
		t := v.vector(g)
		g.VMULPS(dst.at(i), a, t)
		g.VMOVUPS(t, dst.at(i))
	})
	g.end()
}

// widenLoop emits the conversion of float16 to float32.
func (g *gen) widenLoop(v isa) {
	g.begin("widen"+v.suffix, "func(dst *float32, src *uint16, n int)",
		"widen"+v.suffix+" converts n halves to floats.")
	dst, src := g.pointer("dst", 4), g.pointer("src", 2)
	g.each(v, []pointer{dst, src}, func(i int) {
		t := v.vector(g)
		g.VCVTPH2PS(src.at(i), t)
		g.VMOVUPS(t, dst.at(i))
	})
	g.end()
}

// roundLoop emits the conversion of float32 to float16.
func (g *gen) roundLoop(v isa) {
	g.begin("round"+v.suffix, "func(dst *uint16, src *float32, n int)",
		"round"+v.suffix+" rounds n floats to halves, ties to even.")
	dst, src := g.pointer("dst", 2), g.pointer("src", 4)
	g.each(v, []pointer{dst, src}, func(i int) {
		t := v.vector(g)
		g.VMOVUPS(src.at(i), t)
		g.VCVTPS2PH(operand.U8(0), t, dst.at(i)) // 0: round to nearest even
	})
	g.end()
}

// scaledLoop emits the loop over signed bytes with scales. An iteration takes one block of 32 bytes, and so one scale.
func (g *gen) scaledLoop(v isa) {
	g.begin("scaled"+v.suffix, "func(dst *float32, src *byte, scales *uint16, n int)",
		"scaled"+v.suffix+" multiplies n signed bytes by the scales of their blocks of 32.")
	dst, src, scales := g.pointer("dst", 4), g.pointer("src", 1), g.param("scales")
	var scale reg.VecVirtual
	g.each(v, []pointer{dst, src}, func(i int) {
		if i == 0 {
			half := g.XMM()
			scale = v.vector(g)
			g.VPBROADCASTW(at(scales, 0), half)
			g.VCVTPH2PS(half, half)
			g.VBROADCASTSS(half, scale)
			g.ADDQ(operand.U32(2), scales)
		}
		t := v.vector(g)
		g.VPMOVSXBD(src.at(i), t)
		g.VCVTDQ2PS(t, t)
		g.VMULPS(scale, t, t)
		g.VMOVUPS(t, dst.at(i))
	})
	g.end()
}
