package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// load512 loads 64 bytes of constants.
func (g *gen) load512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VMOVUPS(m, v)
	return v
}

// table512 loads the 16 entries of a table.
func (g *gen) table512(t *table) reg.VecVirtual {
	return g.load512(g.floats(t.name, t.values[:]...))
}

// half512 returns the half at m in every lane.
func (g *gen) half512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPBROADCASTW(m, v.AsX())
	g.VCVTPH2PS(v.AsX(), v.AsX())
	g.VBROADCASTSS(v.AsX(), v)
	return v
}

// bytes512 returns the 16 bytes at m, zero-extended to dwords.
func (g *gen) bytes512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPMOVZXBD(m, v)
	return v
}

// lookup returns table[low nibble of each dword of index]: VPERMPS ignores the
// higher bits of the index. Where the mask has a bit, upper serves instead.
func (g *gen) lookup(table, index reg.Register, upper reg.Register, mask reg.Register) reg.VecVirtual {
	w := g.ZMM()
	g.VPERMPS(table, index, w)
	if mask != nil {
		g.VPERMPS(upper, index, mask, w)
	}
	return w
}
