package quant

import (
	"math"
	"math/bits"
)

// Functions that the formats with code books share: groups of magnitudes or values from a book, and scales
// that are odd multiples of a unit.

// evenSigns returns a bit for each value of a group of eight, 1 for negative: the seven given bits, and an
// eighth that makes the number of ones even.
func evenSigns(seven uint32) uint8 {
	seven &= 127
	return uint8(seven | uint32(bits.OnesCount32(seven)&1)<<7)
}

// unpackSigned decodes a group: scale times the bytes of values, negated where the bit of signs, from the
// lowest on, is set.
func unpackSigned(dst []float32, values uint64, signs uint8, scale float32) {
	for i := range dst {
		w := scale * float32(uint8(values))
		dst[i] = math.Float32frombits(math.Float32bits(w) ^ uint32(signs)<<31)
		values >>= 8
		signs >>= 1
	}
}

// signedIntegers decodes a group: the signed bytes of values, negated where the bit of signs is set.
func signedIntegers(q []int16, values uint64, signs uint8) {
	for i := range 8 {
		v := int16(int8(values))
		q[i] = v - v*2*int16(signs&1)
		values >>= 8
		signs >>= 1
	}
}

// oddScale returns the s from 0 to most for which d·(2s+1) is nearest to want.
func oddScale(want, d float32, most int) int { return round((want*inverse(d)-1)/2, 0, most) }

// oddScales chooses the scales d·unit·(2s+1) of sub-blocks such that the extreme of each is about the largest
// magnitude of a code book. It stores d and returns d·unit.
func oddScales(d []byte, unit, largest float32, most, size int, src []float32) (unitScale float32, codes [16]int) {
	var want [16]float32
	n := len(src) / size
	for s := range n {
		want[s] = float32(math.Abs(float64(extreme(src[size*s:size*(s+1)])))) / largest
	}
	unitScale = putHalf(d, maxOf(want[:])/(unit*float32(2*most+1))) * unit
	for s := range n {
		codes[s] = oddScale(want[s], unitScale, most)
	}
	return unitScale, codes
}

// encodeSigned finds the entries and signs of a group of eight under a scale; for a book of four values, the
// group has two entries. If even is set and the number of negative values is odd, the sign of the smallest
// value is changed.
func encodeSigned(b *CodeBook, src []float32, scale float32, even bool) (entries [2]int, signs uint8) {
	var x [8]float32
	smallest, inv := 0, inverse(scale)
	for i, f := range src[:8] {
		x[i] = f * inv
		if x[i] < 0 {
			x[i], signs = -x[i], signs|1<<i
		}
		if x[i] < x[smallest] {
			smallest = i
		}
	}
	if even && bits.OnesCount8(signs)%2 == 1 {
		x[smallest], signs = -x[smallest], signs^1<<smallest
	}
	for i := range 8 / b.Group {
		entries[i], _ = b.nearest(x[b.Group*i:b.Group*(i+1)], 0)
	}
	return entries, signs
}
