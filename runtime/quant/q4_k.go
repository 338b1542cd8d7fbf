package quant

// formatQ4_K is Q4_K: 256 elements in 144 bytes, 8 sub-blocks of 32.
//
//	d      half       scale of the scales
//	dmin   half       scale of the minima
//	scales [12]byte   8 scales and 8 minima of 6 bits, see scaleMin
//	qs     [128]byte  bytes 32c…32c+31: sub-block 2c in the low nibbles, 2c+1 in the high
//
// element = d·scale·nibble - dmin·minimum
var formatQ4_K = Format{
	Type: Q4_K, Name: "q4_k", BlockElems: SuperBlock, BlockBytes: q4_KBytes,
	Dequantize: dequantizeQ4_K, Quantize: quantizeQ4_K, Dot: dotQ4_K,
	Halves: &HalfProducts{Magnitude: 8, Apart: 4, SubBlock: 32, Unpack: unpackQ4_K},
}

const q4_KBytes = 144

func dequantizeQ4_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[q4_KBytes:] {
		d, dmin, scales := halfAt(src), halfAt(src[2:]), (*[12]byte)(src[4:])
		for c := range 4 {
			sc0, m0 := scaleMin(scales, 2*c)
			sc1, m1 := scaleMin(scales, 2*c+1)
			d0, min0 := d*float32(sc0), dmin*float32(m0)
			d1, min1 := d*float32(sc1), dmin*float32(m1)
			qs, w := (*[32]byte)(src[16+32*c:]), (*[64]float32)(dst[64*c:])
			for l, b := range qs {
				w[l] = d0*float32(b&15) - min0
				w[l+32] = d1*float32(b>>4) - min1
			}
		}
	}
}

func unpackQ4_K(block []byte, q []int16, scales []Affine) {
	unpackScaleMin((*[16]byte)(block), 8, scales)
	for i, b := range block[16:q4_KBytes] {
		at := i/32*64 + i%32
		q[at], q[at+32] = int16(b&15)-8, int16(b>>4)-8
	}
}

func quantizeQ4_K(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q4_KBytes:], src[SuperBlock:] {
		q := quantizeAffine((*[16]byte)(dst), (*[SuperBlock]float32)(src), 15)
		for i := range 128 {
			c, l := i/32, i%32
			dst[16+i] = q[64*c+l] | q[64*c+32+l]<<4
		}
	}
}

func dotQ4_K(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q4_KBytes:], x[SuperBlock:] {
		dequantizeQ4_K(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
