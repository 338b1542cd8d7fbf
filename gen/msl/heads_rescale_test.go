package msl_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// rescaled are shapes of both forms: that of class apple, and of the other one with halves; the deep tier adds
// those with floats.
var rescaled = []headShape{headShapes[5], headShapes[0], headShapes[6], headShapes[1]}

// courses are how scores go with the position of a cache row. The results and the sum of a query shrink where a score
// lies more than 10.4 above its reference, which then becomes 2.8 below that score: so from then on 7.6 above it.
// All are exact as halves. Those that have weight in the end are small: a sum of floats is rounded to a part of its size.
var courses = []func(pos int) float64{
	func(int) float64 { return 0 },
	// By 8 from each page to the next one.
	func(pos int) float64 { return float64(pos-300) / 8 }, // the last row is 299
	// The first of two steps does not rescale the sum, both together do. Almost half of the sum comes from
	// rescaled weights, so the result is wrong if they are rescaled twice. The next two steps are the same.
	func(pos int) float64 { return []float64{-16, -8.75, -8, -0.75, 0}[pos/plan.PageRows] },
	func(pos int) float64 { return -float64(pos) / 8 },
}

// courseOf is the course of a row's scores. Few rows rise. Some simdgroups turn no rising row's scores into weights, and
// of class apple these shrink their columns of the rising rows' results all the same.
func courseOf(row int) int { return map[int]int{5: 1, 6: 2, 9: 3}[row%16] }

// TestHeadsRescale runs attention over expanded heads on scores that rise from tile to tile by more than a weight's
// range, for some rows of a block and not for others.
func TestHeadsRescale(t *testing.T) {
	t.Parallel()
	shapes := rescaled
	if !deep.On {
		shapes = shapes[:2]
	}
	for i, c := range shapes {
		b, l, cases := c.cases(t)
		cases = slices.DeleteFunc(cases, func(c check.Case) bool { return !attendsHeads(c.Kernel) || c.Pos < 4*plan.PageRows })
		if len(cases) != 1 {
			t.Errorf("%d: %d cases", i, len(cases))
		}
		for _, c := range cases {
			c.Change = func(l *device.Launch) {
				raiseKeys(l, b)
				pickCourses(l, b)
			}
			if r := c.Check(l); !r.OK() {
				t.Errorf("%d: %s", i, r.Problem())
			}
		}
	}
}

// attendsHeads reports whether a kernel is attention over expanded heads.
func attendsHeads(k *plan.Kernel) bool {
	_, ok := k.Parts[0].(*plan.AttendHeads)
	return ok
}

// raiseKeys makes each course one of the last columns of the rotated keys, which all heads share.
func raiseKeys(l *device.Launch, b *plan.Bundle) {
	p, page, size := l.Kernel.Parts[0].(*plan.AttendHeads), b.Model.HeadsPage(), int(b.HeadsElement())
	for i := range len(l.Buffers[p.KV.Tables]) / 4 {
		entry := binary.LittleEndian.Uint32(l.Buffers[p.KV.Tables][4*i:])
		if entry == math.MaxUint32 {
			continue // no page
		}
		for row := range plan.PageRows {
			key := int(entry)*page.Elements + page.Rotated + (row+1)*p.PeDim - len(courses)
			for c, course := range courses {
				putNumber(l.Buffers[p.KV.Slot][(key+c)*size:], size, course(i%p.KV.MaxPages*plan.PageRows+row))
			}
		}
	}
}

// pickCourses lets each query multiply the column of its row's course, and no other course's. The products of the
// columns before are a thirty-second part of what they were, which hides no course.
func pickCourses(l *device.Launch, b *plan.Bundle) {
	p, size := l.Kernel.Parts[0].(*plan.AttendHeads), int(b.HeadsElement())
	weight := float64(quant.HalfToFloat(quant.FloatToHalf(float32(1 / p.Scale)))) // a product with it is exact in all forms
	for row := range l.Kernel.Width {
		for head := range p.Heads {
			nope, pe := numbersOf(l, p.QNope, row, head, size), numbersOf(l, p.QPe, row, head, size)
			for c := range p.NopeDim {
				putNumber(nope[c*size:], size, number(nope[c*size:], size)/32)
			}
			for c := range p.PeDim - len(courses) {
				putNumber(pe[c*size:], size, number(pe[c*size:], size)/32)
			}
			for c := range courses {
				x := 0.0
				if c == courseOf(row) {
					x = weight
				}
				putNumber(pe[(p.PeDim-len(courses)+c)*size:], size, x)
			}
		}
	}
}

// numbersOf are the bytes from a vector's number 0 on, of one row and head.
func numbersOf(l *device.Launch, v plan.Vec, row, head, size int) []byte {
	buffer := l.Buffers[v.Slot]
	return buffer[len(buffer)/l.Kernel.Width*row+(v.Offset+head*v.Stride)*size:]
}

// number is the number of 2 or 4 bytes that a buffer begins with.
func number(b []byte, size int) float64 {
	if size == 2 {
		return float64(quant.HalfToFloat(binary.LittleEndian.Uint16(b)))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// putNumber sets it.
func putNumber(b []byte, size int, x float64) {
	if size == 2 {
		binary.LittleEndian.PutUint16(b, quant.FloatToHalf(float32(x)))
		return
	}
	binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
}
