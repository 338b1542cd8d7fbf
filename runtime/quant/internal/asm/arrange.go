package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What arrangeLoop makes of 32 elements of x: four vectors of eight, then their sums.
const (
	arrangedBytes = 160
	arrangedSum   = 128
)

// arrangeLoop emits the function that arranges x for rows whose elements are the
// bytes of dwords. Byte b of eight dwords is taken out of them all with one mask,
// which leaves element 4·i+b in dword i, times 256^b. So vector b of 32 elements holds
// elements 4·i+b, divided by 256^b; the last is multiplied by an argument, as some
// loops shift byte 3 down. The sums are those of elements 4·i…4·i+3, times another
// argument: they are for what all elements of a row have in common.
func (g *gen) arrangeLoop() {
	g.begin("arrangeAVX2", "func(dst, x *float32, n int, common, last float32)",
		"arrangeAVX2 arranges n floats, a positive multiple of 32, for the mat-vec loops.")
	dst, x, n := g.param("dst"), g.param("x"), g.param("n")
	factor := func(name string) reg.VecVirtual {
		f, all := g.XMM(), g.YMM()
		g.Load(g.Param(name), f)
		g.VBROADCASTSS(f, all)
		return all
	}
	common, units := factor("common"), map[int]operand.Op{
		1: g.floats("unit1", repeat(8, float32(0x1p-8))...),
		2: g.floats("unit2", repeat(8, float32(0x1p-16))...),
		3: factor("last"),
	}
	g.Label("group")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = g.YMM()
		g.VMOVUPS(at(x, 16*i), v[i].AsX())
		g.VINSERTF128(operand.U8(1), at(x, 64+16*i), v[i], v[i])
	}
	v = g.transpose(v)
	sum, t := g.YMM(), g.YMM()
	g.VADDPS(v[1], v[0], sum)
	g.VADDPS(v[3], v[2], t)
	g.VADDPS(t, sum, sum)
	for b := range v {
		if unit, ok := units[b]; ok {
			g.VMULPS(unit, v[b], v[b])
		}
		g.VMOVUPS(v[b], at(dst, 32*b))
	}
	g.VMULPS(common, sum, sum)
	g.VMOVUPS(sum, at(dst, arrangedSum))
	g.ADDQ(operand.U32(128), x)
	g.ADDQ(operand.U32(arrangedBytes), dst)
	g.SUBQ(operand.U8(32), n)
	g.JNZ(operand.LabelRef("group"))
	g.end()
}

// transpose transposes both halves of four registers.
func (g *gen) transpose(v [4]reg.VecVirtual) (t [4]reg.VecVirtual) {
	var pairs [4]reg.VecVirtual
	for i := range pairs {
		pairs[i], t[i] = g.YMM(), g.YMM()
	}
	g.VUNPCKLPS(v[1], v[0], pairs[0])
	g.VUNPCKHPS(v[1], v[0], pairs[1])
	g.VUNPCKLPS(v[3], v[2], pairs[2])
	g.VUNPCKHPS(v[3], v[2], pairs[3])
	for i := range 2 {
		g.VUNPCKLPD(pairs[i+2], pairs[i], t[2*i])
		g.VUNPCKHPD(pairs[i+2], pairs[i], t[2*i+1])
	}
	return t
}
