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

// byteMasks returns masks of bytes 0, 1 and 2 of dwords.
func (g *gen) byteMasks() []reg.VecVirtual {
	return []reg.VecVirtual{
		g.load2(g.dwords("byte0", repeat(8, uint32(0xff))...)),
		g.load2(g.dwords("byte1", repeat(8, uint32(0xff00))...)),
		g.load2(g.dwords("byte2", repeat(8, uint32(0xff0000))...)),
	}
}

// all2 returns f in every lane.
func (g *gen) all2(name string, f float32) reg.VecVirtual {
	return g.load2(g.floats(name, repeat(8, f)...))
}
