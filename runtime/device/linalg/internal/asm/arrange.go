package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// arranged says how x is arranged for a format: in groups of a given number of vectors of eight,
// and then their sum.
type arranged struct {
	vectors int
	// int8: the elements of a group are signed bytes; their scales follow, and then their
	// sums, a vector each. See int8Loop.
	int8   bool
	signed bool // so are those of rows, and no sums are used
	wide   bool // scales and sums are vectors of 64 bytes
}

var (
	// single is of 32 elements: the upper half of a vector has elements 16 to 31.
	single = &arranged{vectors: 4}
	// pairs is of 64 elements, two blocks of formats that have one scale for 32: each
	// has a half of the vectors.
	pairs = &arranged{vectors: 8}

	signedSingle8 = &arranged{vectors: 4, int8: true, signed: true}
	pairs8        = &arranged{vectors: 8, int8: true}
	signedPairs8  = &arranged{vectors: 8, int8: true, signed: true}
	// super8 is of 256 elements, a block of K-quants, with sums of 16 elements each.
	super8       = &arranged{vectors: 32, int8: true}
	signedSuper8 = &arranged{vectors: 32, int8: true, signed: true}

	// blocks8 is of 64 elements, two blocks whose scales and sums have half a vector each.
	blocks8 = &arranged{vectors: 8, int8: true, wide: true}
)

// elems is the number of elements of a group.
func (a *arranged) elems() int { return 8 * a.vectors }

// at returns the offset of a vector.
func (a *arranged) at(vector int) int { return a.bytes()*(vector/a.vectors) + 32*(vector%a.vectors) }

// bytesAt returns the offset of 32 elements that are bytes.
func (a *arranged) bytesAt(i int) int {
	n := a.elems() / 32
	return a.bytes()*(i/n) + 32*(i%n)
}

// scaleAt returns the offset of the scales of a group of bytes, and sumAt that of the sums
// of a group.
func (a *arranged) scaleAt(group int) int { return a.bytes()*group + a.elems() }
func (a *arranged) sumAt(group int) int   { return a.bytes()*(group+1) - a.vector() }

// vector is the size of the scales of a group, and of its sums.
func (a *arranged) vector() int {
	if a.wide {
		return 64
	}
	return 32
}

// bytes is the size of a group.
func (a *arranged) bytes() int {
	if a.int8 {
		return a.elems() + 2*a.vector()
	}
	return 32 * (a.vectors + 1)
}

// arrangeLoop emits the function that arranges x for rows whose elements are the
// bytes of dwords. Byte b of eight dwords is taken out of them all with one mask,
// which leaves element 4·i+b in dword i, times 256^b. So vector b of 32 elements holds
// elements 4·i+b, divided by 256^b; the last is multiplied by an argument, as some
// loops shift byte 3 down. Of pairs vectors 0 to 3 hold the first 16 elements of two
// blocks, and 4 to 7 the others. The sums are those of the elements of a lane, times
// another argument: they are for what all elements of a row have in common.
func (g *gen) arrangeLoop(name string, a *arranged) {
	elems := a.elems()
	g.begin(name, "func(dst, x *float32, n int, common, last float32)",
		fmt.Sprintf("%s arranges n floats, a positive multiple of %d, for the mat-vec loops.", name, elems))
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
	var sums []reg.VecVirtual
	for first := 0; first < a.vectors; first += 4 {
		var v [4]reg.VecVirtual
		for i := range v {
			v[i] = g.YMM()
			g.VBROADCASTF128(at(x, 16*(first+i)), v[i])
			g.VINSERTF128(operand.U8(1), at(x, 2*elems+16*(first+i)), v[i], v[i])
		}
		v = g.transpose(v)
		sum, t := g.YMM(), g.YMM()
		g.VADDPS(v[1], v[0], sum)
		g.VADDPS(v[3], v[2], t)
		g.VADDPS(t, sum, sum)
		sums = append(sums, sum)
		for b := range v {
			if unit, ok := units[b]; ok {
				g.VMULPS(unit, v[b], v[b])
			}
			g.VMOVUPS(v[b], at(dst, 32*(first+b)))
		}
	}
	for _, sum := range sums[1:] {
		g.VADDPS(sum, sums[0], sums[0])
	}
	g.VMULPS(common, sums[0], sums[0])
	g.VMOVUPS(sums[0], at(dst, a.sumAt(0)))
	g.ADDQ(operand.U32(4*elems), x)
	g.ADDQ(operand.U32(a.bytes()), dst)
	g.SUBQ(operand.U8(elems), n)
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

// sumLoop emits the function that adds up the lanes of the sums of a stretch, in the order
// of sumYMM.
func (g *gen) sumLoop(t tile) {
	const name = "sumLanesAVX2"
	g.begin(name, "func(sums *float32, n int)",
		name+" replaces n rows of sums, of eight lanes for each of four inputs, by n times four floats.")
	from, n := g.param("sums"), g.param("n")
	to := g.copyOf(from)
	g.Label("row")
	var v [4]reg.VecVirtual
	for j := range v {
		v[j] = g.YMM()
		high := g.XMM()
		g.VMOVUPS(at(from, 32*j), v[j])
		g.VEXTRACTF128(operand.U8(1), v[j], high)
		g.VADDPS(v[j].AsX(), high, v[j].AsX())
	}
	sums := g.addLanes(v)
	g.VMOVUPS(sums.AsX(), at(to, 0))
	g.ADDQ(operand.U32(32*t.inputs), from)
	g.ADDQ(operand.U32(4*t.inputs), to)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("row"))
	g.end()
}

// addLanes returns the sums of the lowest four lanes of each register, in the order of
// sumXMM.
func (g *gen) addLanes(v [4]reg.VecVirtual) reg.VecVirtual {
	v = g.transpose(v)
	for j := range 2 {
		g.VADDPS(v[j+2], v[j], v[j])
	}
	g.VADDPS(v[1], v[0], v[0])
	return v[0]
}
