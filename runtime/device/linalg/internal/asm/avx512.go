package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// load512 loads 64 bytes into a register.
func (g *gen) load512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VMOVUPS(m, v)
	return v
}

// table512 loads the 16 numbers of a table.
func (g *gen) table512(t *table) reg.VecVirtual {
	return g.load512(g.floats(t.name, t.values[:]...))
}

// half512 converts the float16 at m to float32, in all lanes.
func (g *gen) half512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPBROADCASTW(m, v.AsX())
	g.VCVTPH2PS(v.AsX(), v.AsX())
	g.VBROADCASTSS(v.AsX(), v)
	return v
}

// bytes512 loads the 16 bytes at m and zero-extends them to dwords.
func (g *gen) bytes512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPMOVZXBD(m, v)
	return v
}

// lookup returns table[index & 15] for each dword of index: VPERMPS ignores the higher bits
// of an index. Lanes whose bit of mask is set take upper[index & 15] instead. mask may be nil.
func (g *gen) lookup(table, index reg.Register, upper reg.Register, mask reg.Register) reg.VecVirtual {
	w := g.ZMM()
	g.VPERMPS(table, index, w)
	if mask != nil {
		g.VPERMPS(upper, index, mask, w)
	}
	return w
}
