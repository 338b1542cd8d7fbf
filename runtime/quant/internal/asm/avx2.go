package main

import (
	"fmt"

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

// byteMasks returns masks of bytes 0, 1 and 2 of dwords. A fourth would not do: as a
// dword such a byte may be negative.
func (g *gen) byteMasks() []reg.VecVirtual { return g.masks("byte", 0xff, 3) }

// nibbleMasks returns masks of the low nibbles of bytes 0 to 3 of dwords.
func (g *gen) nibbleMasks() []reg.VecVirtual { return g.masks("nibble", 0x0f, 4) }

func (g *gen) masks(name string, mask uint32, n int) []reg.VecVirtual {
	m := make([]reg.VecVirtual, n)
	for b := range m {
		m[b] = g.load2(g.dwords(fmt.Sprintf("%s%d", name, b), repeat(8, mask<<(8*b))...))
	}
	return m
}
