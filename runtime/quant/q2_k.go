package quant

// formatQ2_K is Q2_K: 256 elements in 84 bytes, 16 sub-blocks of 16.
//
//	scales [16]byte  scale of each sub-block in the low nibble, minimum in the high one
//	qs     [64]byte  two bits per element, see pairs
//	d      half      scale of the scales
//	dmin   half      scale of the minima
//
// element = d·scale·q - dmin·minimum
var formatQ2_K = Format{
	Type: Q2_K, Name: "q2_k", BlockElems: SuperBlock, BlockBytes: q2_KBytes,
	Dequantize: dequantizeQ2_K, Quantize: quantizeQ2_K, Dot: dotQ2_K,
	Halves: &HalfProducts{Magnitude: 2, Apart: 4, SubBlock: 16, Unpack: unpackQ2_K},
}

const (
	q2_KBytes = 84
	q2_KPairs = 16 // offset of qs
	q2_KScale = 80 // offset of d
)

func dequantizeQ2_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[q2_KBytes:] {
		d, dmin := halfAt(src[q2_KScale:]), halfAt(src[q2_KScale+2:])
		for s, packed := range src[:16] {
			scale, minimum := d*float32(packed&15), dmin*float32(packed>>4)
			qs, shift := pairs(src[q2_KPairs:], s)
			w := (*[16]float32)(dst[16*s:])
			for l, b := range qs {
				w[l] = scale*float32(b>>shift&3) - minimum
			}
		}
	}
}

// pairs returns where the two bits of each of the 16 elements of sub-block s are in the
// 64 bytes qs of a block: element 128h+32k+l has bits 2k and 2k+1 of byte 32h+l.
func pairs(qs []byte, s int) (bytes *[16]byte, shift int) {
	return (*[16]byte)(qs[s/8*32+s%2*16:]), s / 2 % 4 * 2
}

// packPairs is the inverse of pairs for all elements.
func packPairs(qs []byte, q *[SuperBlock]uint8) {
	clear(qs[:64])
	for i, v := range q {
		qs[i/128*32+i%32] |= v & 3 << (i / 32 % 4 * 2)
	}
}

func unpackQ2_K(block []byte, q []int16, scales []Affine) {
	d, dmin := halfAt(block[q2_KScale:]), halfAt(block[q2_KScale+2:])
	for s, packed := range block[:16] {
		qs, shift := pairs(block[q2_KPairs:], s)
		for l, b := range qs {
			q[16*s+l] = int16(b>>shift&3) - 2
		}
		scales[s] = centred(d*float32(packed&15), -dmin*float32(packed>>4), 2)
	}
}

func quantizeQ2_K(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q2_KBytes:], src[SuperBlock:] {
		var spans, offsets [16]float32 // scale and negated minimum each sub-block asks for
		for s := range spans {
			spans[s], offsets[s] = spanOf(src[16*s:16*s+16], 3)
		}
		d := putHalf(dst[q2_KScale:], maxOf(spans[:])/15)
		dmin := putHalf(dst[q2_KScale+2:], maxOf(offsets[:])/15)
		invD, invDmin := inverse(d), inverse(dmin)
		var q [SuperBlock]uint8
		for s := range spans {
			scale, minimum := round(spans[s]*invD, 0, 15), round(offsets[s]*invDmin, 0, 15)
			dst[s] = byte(scale | minimum<<4)
			offset, inv := dmin*float32(minimum), inverse(d*float32(scale))
			for l, f := range src[16*s : 16*s+16] {
				q[16*s+l] = uint8(round((f+offset)*inv, 0, 3))
			}
		}
		packPairs(dst[q2_KPairs:], &q)
	}
}

func dotQ2_K(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q2_KBytes:], x[SuperBlock:] {
		dequantizeQ2_K(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
