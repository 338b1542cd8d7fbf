package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// quarters calls f with the 32 bytes of v eight at a time, each at the start of a
// register. It overwrites v.
func (g *gen) quarters(v reg.VecVirtual, f func(i int, part reg.Register)) {
	t := g.XMM()
	f(0, v.AsX())
	g.VPSRLDQ(operand.U8(8), v.AsX(), t)
	f(1, t)
	g.VEXTRACTI128(operand.U8(1), v, t)
	f(2, t)
	g.VPSRLDQ(operand.U8(8), t, t)
	f(3, t)
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
