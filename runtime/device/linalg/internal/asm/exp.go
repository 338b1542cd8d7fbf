package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Limits of the argument of the exponential: e^x rounds to 0 below expLow, and to infinity
// above expHigh.
const (
	expLow  = -104
	expHigh = 89
)

// expLoop emits e^x with an error below two units in the last place. It splits the argument into
// x = k·ln2 + r with |r| ≤ ln2/2. e^r is the Taylor polynomial of degree 7, whose
// remainder is below 6e-9. The result is multiplied by 2^k in two steps of about 2^(k/2), so
// that it rounds to subnormal numbers, 0 and infinity without special cases.
func (g *gen) expLoop(v isa) {
	g.begin("exp"+v.suffix, "func(x *float32, n int)", "exp"+v.suffix+" replaces n floats by their exponentials.")
	x := g.pointer("x", 4)
	ln2High := float32(math.Ln2)
	all := func(name string, f float32) reg.VecVirtual {
		r := v.vector(g)
		g.VBROADCASTSS(g.floats(name, f), r)
		return r
	}
	low, high := all("expLow", expLow), all("expHigh", expHigh)
	log2e, shift := all("log2e", math.Log2E), all("expShift", 0x1.8p23)
	ln2, ln2Rest := all("ln2", ln2High), all("ln2Rest", float32(math.Ln2-float64(ln2High)))
	one := all("one", 1)
	taylor := []float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1}
	g.each(v, []pointer{x}, func(i int) {
		r, k, p := v.vector(g), v.vector(g), v.vector(g)
		// VMAXPS and VMINPS return the first of these operands (in Go's order) if one is NaN.
		g.VMAXPS(x.at(i), low, r)
		g.VMINPS(r, high, r)
		// Adding 1.5·2^23 rounds log2e·r to an integer, and leaves the integer in the low bits of the float.
		g.VMOVAPS(shift, k)
		g.VFMADD231PS(log2e, r, k)
		whole := v.vector(g)
		g.VSUBPS(shift, k, whole)
		g.VFNMADD231PS(ln2, whole, r)
		g.VFNMADD231PS(ln2Rest, whole, r)
		g.VBROADCASTSS(g.floats("taylor", taylor...), p)
		for j := range taylor[1:] {
			c := v.vector(g)
			g.VBROADCASTSS(g.floats("taylor", taylor...).Offset(4*(j+1)), c)
			g.VFMADD213PS(c, r, p)
		}
		half := v.vector(g)
		g.VPSUBD(shift, k, k)
		g.VPSRAD(operand.U8(1), k, half)
		g.VPSUBD(half, k, k)
		for _, e := range []reg.VecVirtual{half, k} {
			g.VPSLLD(operand.U8(23), e, e)
			g.VPADDD(one, e, e)
			g.VMULPS(e, p, p)
		}
		g.VMOVUPS(p, x.at(i))
	})
	g.end()
}
