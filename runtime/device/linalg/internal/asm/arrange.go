package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// arranged is the layout of arranged x. x is a sequence of groups. For floats a group has
// some vectors of eight elements, and then a vector of sums. For bytes (int8) it has the
// elements as signed bytes, then a vector of scales, then a vector of sums; see int8Loop.
type arranged struct {
	vectors int  // of eight elements, in a group
	int8    bool // elements are bytes
	signed  bool // the codes of rows are signed, too; then the sums are not used
	wide    bool // the vectors of scales and of sums have 64 bytes, else 32
}

var (
	// single has groups of 32 elements: one block or sub-block. The upper half of a vector has elements from 16 to 31.
	single = &arranged{vectors: 4}
	// pairs has groups of 64 elements: two blocks of 32 with a scale each. The lower half of a
	// vector has elements of the first block, the upper half those of the second.
	pairs = &arranged{vectors: 8}

	// signedSingle8, pairs8 and signedPairs8 are the same groups, as bytes.
	signedSingle8 = &arranged{vectors: 4, int8: true, signed: true}
	pairs8        = &arranged{vectors: 8, int8: true}
	signedPairs8  = &arranged{vectors: 8, int8: true, signed: true}
	// super8 and signedSuper8 have groups of 256 bytes: a block of a K-quant. The sums are of 16 elements each.
	super8       = &arranged{vectors: 32, int8: true}
	signedSuper8 = &arranged{vectors: 32, int8: true, signed: true}

	// blocks8 has groups of 64 bytes: two blocks of 32. The lower half of the vectors of scales and sums is for
	// the first block, the upper half for the second.
	blocks8 = &arranged{vectors: 8, int8: true, wide: true}
)

// elems returns the number of elements of a group.
func (a *arranged) elems() int { return 8 * a.vectors }

// at returns the byte offset of a vector of floats, counted from the start of arranged x.
func (a *arranged) at(vector int) int { return a.bytes()*(vector/a.vectors) + 32*(vector%a.vectors) }

// bytesAt returns the byte offset of the i-th 32 elements of x, which are bytes.
func (a *arranged) bytesAt(i int) int {
	n := a.elems() / 32
	return a.bytes()*(i/n) + 32*(i%n)
}

// scaleAt returns the byte offset of the scales of a group of bytes; sumAt returns that of the
// sums of a group.
func (a *arranged) scaleAt(group int) int { return a.bytes()*group + a.elems() }
func (a *arranged) sumAt(group int) int   { return a.bytes()*(group+1) - a.vector() }

// vector returns the bytes of a group's scales, which are as many as those of its sums.
func (a *arranged) vector() int {
	if a.wide {
		return 64
	}
	return 32
}

// bytes returns the number of bytes of a group.
func (a *arranged) bytes() int {
	if a.int8 {
		return a.elems() + 2*a.vector()
	}
	return 32 * (a.vectors + 1)
}

// arrangeLoop emits the function that arranges x as floats. It matches how addBytes unpacks
// rows: their codes are bytes, four in a dword. One mask takes byte b out of eight dwords at
// once, and leaves element 4·i+b in lane i, times 256^b:
//
//	vector b of 32 elements, lane i:  element 4·i+b of x, divided by 256^b
//
// The argument last multiplies vector 3: 2^-24, or 1 for loops that shift byte 3 down instead of
// masking it. With pairs, vectors 0 to 3 have the first 16 elements of two blocks, and
// vectors 4 to 7 the last 16. Lane i of the sums adds up the elements of lane i, times the
// argument common. The sums multiply what all elements of a block share: a minimum, or
// the number that codes count from.
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

// transpose transposes the 4×4 matrix of floats in each 128-bit half of four registers.
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

// sumLoop emits the function that adds up the eight lanes of every running sum of a stretch,
// in the order of sumYMM.
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

// addLanes returns a register whose lane j has the sum of the lowest four lanes of v[j], in
// the order of sumXMM.
func (g *gen) addLanes(v [4]reg.VecVirtual) reg.VecVirtual {
	v = g.transpose(v)
	for j := range 2 {
		g.VADDPS(v[j+2], v[j], v[j])
	}
	g.VADDPS(v[1], v[0], v[0])
	return v[0]
}
