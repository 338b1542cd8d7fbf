package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format2 describes the AVX2 loop of one format.
type format2 struct {
	name         string
	elems, bytes int // of a step: a block, or a run of one-element blocks
	// begin emits the loading of constants and returns what emits one step.
	begin func(g *gen) func(l *loop2)
}

// loop2 is the state of the loop over the steps of a row.
type loop2 struct {
	*gen
	x, block reg.Register
	sum      [4]reg.VecVirtual // four, to hide the latency of the additions
}

// row2 emits the function that takes one row. The loads of x are not shared
// between rows: decoding takes longer, and there are too few registers.
func (g *gen) row2(f format2) {
	g.begin(fmt.Sprintf("dot%sAVX2", f.name), signatureRow,
		fmt.Sprintf("dot%sAVX2 is the rowFunc of %s in steps of %d elements.", f.name, f.name, f.elems))
	l := &loop2{gen: g, x: g.param("x"), block: g.param("w")}
	steps := g.param("steps")
	for i := range l.sum {
		l.sum[i] = g.YMM()
		g.VXORPS(l.sum[i], l.sum[i], l.sum[i])
	}
	step := f.begin(g)
	g.Label("step")
	step(l)
	g.ADDQ(operand.U32(f.bytes), l.block)
	g.ADDQ(operand.U32(4*f.elems), l.x)
	g.DECQ(steps)
	g.JNZ(operand.LabelRef("step"))
	g.VADDPS(l.sum[1], l.sum[0], l.sum[0])
	g.VADDPS(l.sum[3], l.sum[2], l.sum[2])
	g.VADDPS(l.sum[2], l.sum[0], l.sum[0])
	g.Store(g.sumYMM(l.sum[0]), g.ReturnIndex(0))
	g.end()
}

// add adds w·x to running sum i, where x is vector i of this step.
func (l *loop2) add(i int, w reg.Register) {
	l.VFMADD231PS(at(l.x, 32*i), w, l.sum[i%4])
}

// load2 loads 32 bytes of constants.
func (g *gen) load2(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VMOVUPS(m, v)
	return v
}

// half2 returns the half at m in every lane.
func (g *gen) half2(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VPBROADCASTW(m, v.AsX())
	g.VCVTPH2PS(v.AsX(), v)
	return v
}

// widen returns the eight signed bytes at the start of m as floats.
func (g *gen) widen(m operand.Op) reg.VecVirtual {
	v := g.YMM()
	g.VPMOVSXBD(m, v)
	g.VCVTDQ2PS(v, v)
	return v
}

// quarters returns the 32 bytes of v eight at a time, each at the start of a register.
func (g *gen) quarters(v reg.VecVirtual) [4]reg.Register {
	q := [4]reg.Register{v.AsX(), g.XMM(), g.XMM(), g.XMM()}
	g.VPSRLDQ(operand.U8(8), v.AsX(), q[1])
	g.VEXTRACTI128(operand.U8(1), v, q[2])
	g.VPSRLDQ(operand.U8(8), q[2], q[3])
	return q
}

// affine returns q·scale + min, or q·scale if min is nil; it overwrites q.
func (g *gen) affine(q reg.VecVirtual, scale reg.Register, min reg.VecVirtual) reg.VecVirtual {
	if min == nil {
		g.VMULPS(scale, q, q)
	} else {
		g.VFMADD213PS(min, scale, q)
	}
	return q
}
