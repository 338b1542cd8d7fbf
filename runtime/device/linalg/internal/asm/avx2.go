package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// load2 loads 32 bytes into a register.
func (g *gen) load2(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VMOVUPS(m, v)
	return v
}

// half2 converts the float16 at m to float32, in all lanes.
func (g *gen) half2(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VPBROADCASTW(m, v.AsX())
	g.VCVTPH2PS(v.AsX(), v)
	return v
}

// widen converts the eight signed bytes at the start of m to float32.
func (g *gen) widen(m operand.Op) reg.VecVirtual {
	v := g.YMM()
	g.VPMOVSXBD(m, v)
	g.VCVTDQ2PS(v, v)
	return v
}

// byteMasks returns masks of bytes 0, 1 and 2 of a dword. Byte 3 has no mask: VCVTDQ2PS would
// take a dword with bit 31 set for a negative number. addBytes shifts byte 3 down instead.
func (g *gen) byteMasks(t shape) []operand.Op {
	if t.inputs > 1 {
		return g.masks("byte", 0xff, 3, 0)
	}
	return g.masks("byte", 0xff, 3, 3)
}

// nibbleMasks returns masks of the low nibbles of bytes 0 to 3 of a dword.
func (g *gen) nibbleMasks(t shape) []operand.Op {
	if t.inputs > 1 {
		return g.masks("nibble", 0x0f, 4, 2)
	}
	return g.masks("nibble", 0x0f, 4, 3)
}

// masks returns n masks: mask b is mask<<(8·b) in every dword. The first some are in
// registers, the others in memory.
func (g *gen) masks(name string, mask uint32, n, some int) []operand.Op {
	m := make([]operand.Op, n)
	for b := range m {
		if m[b] = g.dwords(fmt.Sprintf("%s%d", name, b), repeat(8, mask<<(8*b))...); b < some {
			m[b] = g.load2(m[b].(operand.Mem))
		}
	}
	return m
}

// constant2 returns 32 bytes of constants: in a register for one input, in memory for
// several, whose sums need the registers.
func (g *gen) constant2(t shape, m operand.Mem) operand.Op {
	if t.inputs > 1 {
		return m
	}
	return g.load2(m)
}

// broadcast2 loads the float32 at m into all lanes.
func (g *gen) broadcast2(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VBROADCASTSS(m, v)
	return v
}
