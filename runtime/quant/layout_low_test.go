package quant

import (
	"maps"
	"math"
	mathbits "math/bits"
)

// The formats below four bits, defined a second time as in elements.

// pair256 returns the two bits of element i of 256 that are stored from byte o on.
func pair256(b []byte, o, i int) int { return bitsAt(b, 8*(o+i/128*32+i%32)+i/32%4*2, 2) }

// signed returns value i of an entry of a code book, and bookValue its magnitude with a sign
// bit.
func signed(book *CodeBook, entry, i int) float64 {
	return float64(book.levels[book.code(entry, i)])
}

func bookValue(book *CodeBook, entry, i, negative int) float64 {
	return signed(book, entry, i) * float64(1-2*negative)
}

// evenSign is sign i of a group of eight whose signs have an even number of ones.
func evenSign(seven, i int) int {
	if i < 7 {
		return seven >> i & 1
	}
	return mathbits.OnesCount(uint(seven)) % 2
}

func odd(s int) float64 { return float64(2*s + 1) }

func init() {
	maps.Copy(elements, map[Type]func(b []byte, i int) float64{
		Q2_K: func(b []byte, i int) float64 {
			s := 8 * (i / 16)
			return half64(b, 80)*float64(bitsAt(b, s, 4)*pair256(b, 16, i)) - half64(b, 82)*float64(bitsAt(b, s+4, 4))
		},
		Q3_K: func(b []byte, i int) float64 {
			s := i / 16
			scale := bitsAt(b, 8*(96+s%8)+s/8*4, 4) + 16*bitsAt(b, 8*(104+s%4)+s/4*2, 2) - 32
			q := pair256(b, 32, i) + 4*bitsAt(b, 8*(i%32)+i/32, 1) - 4
			return half64(b, 108) * float64(scale) * float64(q)
		},
		IQ2_XXS: func(b []byte, i int) float64 {
			at := 8 * (2 + i/32*8)
			negative := evenSign(bitsAt(b, at+32+i/8%4*7, 7), i%8)
			return half64(b, 0) / 8 * odd(bitsAt(b, at+60, 4)) * bookValue(iq2_XXSBook, bitsAt(b, at+i/8%4*8, 8), i%8, negative)
		},
		IQ2_XS: func(b []byte, i int) float64 {
			at := 8*2 + i/8*16
			negative := evenSign(bitsAt(b, at+9, 7), i%8)
			return half64(b, 0) / 8 * odd(bitsAt(b, 8*66+i/16*4, 4)) * bookValue(iq2_XSBook, bitsAt(b, at, 9), i%8, negative)
		},
		IQ2_S: func(b []byte, i int) float64 {
			entry := bitsAt(b, 8*(2+i/8), 8) + bitsAt(b, 8*66+i/8*2, 2)<<8
			return half64(b, 0) / 8 * odd(bitsAt(b, 8*74+i/16*4, 4)) * bookValue(iq2_SBook, entry, i%8, bitsAt(b, 8*34+i, 1))
		},
		IQ3_XXS: func(b []byte, i int) float64 {
			at := 8 * (66 + i/32*4)
			negative := evenSign(bitsAt(b, at+i/8%4*7, 7), i%8)
			return half64(b, 0) / 4 * odd(bitsAt(b, at+28, 4)) * bookValue(iq3_XXSBook, bitsAt(b, 8*(2+i/4), 8), i%4, negative)
		},
		IQ3_S: func(b []byte, i int) float64 {
			entry := bitsAt(b, 8*(2+i/4), 8) + bitsAt(b, 8*66+i/4, 1)<<8
			return half64(b, 0) * odd(bitsAt(b, 8*106+i/32*4, 4)) * bookValue(iq3_SBook, entry, i%4, bitsAt(b, 8*74+i, 1))
		},
		IQ1_S: func(b []byte, i int) float64 {
			at := 8 * (34 + i/32*2)
			entry := bitsAt(b, 8*(2+i/8), 8) + bitsAt(b, at+i/8%4*3, 3)<<8
			return half64(b, 0) * odd(bitsAt(b, at+12, 3)) * (signed(iq1Book, entry, i%8) + 0.125*float64(1-2*bitsAt(b, at+15, 1)))
		},
		IQ1_M: func(b []byte, i int) float64 {
			var d [2]byte
			for k := range 4 {
				d[k/2] |= byte(bitsAt(b, 8*(48+2*k)+12, 4) << (k % 2 * 4))
			}
			high := 8*32 + i/8*4
			entry := bitsAt(b, 8*(i/8), 8) + bitsAt(b, high, 3)<<8
			scale := bitsAt(b, 8*(48+i/64*2)+i/16%4*3, 3)
			return half64(d[:], 0) * odd(scale) * (signed(iq1Book, entry, i%8) + 0.125*float64(1-2*bitsAt(b, high+3, 1)))
		},
		TQ1_0: func(b []byte, i int) float64 {
			byteOf, digit := i%32, i/32
			if i >= 240 {
				byteOf, digit = 48+i%4, (i-240)/4
			} else if i >= 160 {
				byteOf, digit = 32+i%16, (i-160)/16
			}
			fraction := int(b[byteOf]) * int(math.Pow(3, float64(digit))) % 256
			return half64(b, 52) * float64(fraction*3/256-1)
		},
		TQ2_0: func(b []byte, i int) float64 { return half64(b, 64) * float64(pair256(b, 0, i)-1) },
		NVFP4: func(b []byte, i int) float64 {
			return scaleE4M3(b[i/16]) * e2m1Values[bitsAt(b, 8*(4+i/16*8+i%8)+i/8%2*4, 4)]
		},
		NVFP4Scaled: func(b []byte, i int) float64 { // the product of both scales is rounded first
			code := e2m1Values[bitsAt(b, 8*(8+i/16*8+i%8)+i/8%2*4, 4)]
			scale := float32(elements[F32](b, 0)) * float32(scaleE4M3(b[4+i/16]))
			return float64(scale) * code
		},
		Q1_0: func(b []byte, i int) float64 { return half64(b, 0) * float64(2*bitsAt(b, 16+i, 1)-1) },
		Q2_0: func(b []byte, i int) float64 { return half64(b, 0) * float64(bitsAt(b, 16+2*i, 2)-1) },
	})
	maps.Copy(roundTripBounds, map[Type]float64{
		// Half a step of the span, and half a unit of the 4-bit scale, times 3, and of the minimum.
		Q2_K: 1.0/3 + 3.0/30 + 1.0/30 + 2e-3,
		Q3_K: 1.0/4 + 1.0/64 + 1e-3, // as Q6_K
		// A book has some of all groups, so that one value of eight may be far off: 0.59, 0.54, 0.43, 0.37, 0.35,
		// 0.71 and 0.69 were the worst of 300 blocks. A wrong sign of a large value is off by more than 1.
		IQ2_XXS: 0.75, IQ2_XS: 0.7, IQ2_S: 0.6, IQ3_XXS: 0.5, IQ3_S: 0.45, IQ1_S: 0.85, IQ1_M: 0.85,
		TQ1_0: 0.5 + 1e-3, TQ2_0: 0.5 + 1e-3,
		// The largest gap is from 4 to 6; the scale is off by a sixteenth at most.
		NVFP4: 1.0/6 + 1.0/16 + 1e-3, NVFP4Scaled: 1.0/6 + 1.0/16 + 1e-3,
		Q1_0: 1, // the scale is the mean magnitude
		Q2_0: 0.5 + 1e-3,
	})
	maps.Copy(scaleHalves, map[Type][]int{
		Q2_K: {80, 82}, Q3_K: {108}, IQ2_XXS: {0}, IQ2_XS: {0}, IQ2_S: {0}, IQ3_XXS: {0}, IQ3_S: {0}, IQ1_S: {0},
		TQ1_0: {52}, TQ2_0: {64}, Q1_0: {0}, Q2_0: {0}, IQ1_M: {54}, // whose upper nibble is d's
	})
}

// scaleE4M3 is the number without a sign that NVFP4 has for 16 elements.
func scaleE4M3(b byte) float64 {
	mantissa, exponent := bitsAt([]byte{b}, 0, 3), bitsAt([]byte{b}, 3, 4)
	switch {
	case exponent == 0:
		return math.Ldexp(float64(mantissa), -9)
	case exponent == 15 && mantissa == 7:
		return 0
	}
	return math.Ldexp(1+float64(mantissa)/8, exponent-7)
}
