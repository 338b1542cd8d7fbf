package quant

// formatQ5_K is Q5_K: 256 elements in 176 bytes, 8 sub-blocks of 32.
//
//	d      half       scale of the scales
//	dmin   half       scale of the minima
//	scales [12]byte   8 scales and 8 minima of 6 bits, see scaleMin
//	qh     [32]byte   bit s of byte l: fifth bit of element l of sub-block s
//	qs     [128]byte  bytes 32c…32c+31: sub-block 2c in the low nibbles, 2c+1 in the high
//
// element = d·scale·(nibble | fifth bit << 4) - dmin·minimum
var formatQ5_K = Format{
	Type: Q5_K, Name: "q5_k", BlockElems: SuperBlock, BlockBytes: q5_KBytes,
	Dequantize: dequantizeQ5_K, Quantize: quantizeQ5_K, Dot: dotQ5_K,
	Halves: &HalfProducts{Magnitude: 16, Apart: 4, SubBlock: 32, Unpack: unpackQ5_K},
}

const q5_KBytes = 176

func dequantizeQ5_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[q5_KBytes:] {
		d, dmin, scales := halfAt(src), halfAt(src[2:]), (*[12]byte)(src[4:])
		qh := (*[32]byte)(src[16:])
		for c := range 4 {
			sc0, m0 := scaleMin(scales, 2*c)
			sc1, m1 := scaleMin(scales, 2*c+1)
			d0, min0 := d*float32(sc0), dmin*float32(m0)
			d1, min1 := d*float32(sc1), dmin*float32(m1)
			qs, w := (*[32]byte)(src[48+32*c:]), (*[64]float32)(dst[64*c:])
			for l, b := range qs {
				fifth := qh[l] >> (2 * c)
				w[l] = d0*float32(b&15|fifth<<4&16) - min0
				w[l+32] = d1*float32(b>>4|fifth<<3&16) - min1
			}
		}
	}
}

func unpackQ5_K(block []byte, q []int16, scales []Affine) {
	unpackScaleMin((*[16]byte)(block), 16, scales)
	for i, b := range block[48:q5_KBytes] {
		c, l := i/32, i%32
		fifth := block[16+l] >> (2 * c)
		q[64*c+l], q[64*c+32+l] = int16(b&15|fifth<<4&16)-16, int16(b>>4|fifth<<3&16)-16
	}
}

func quantizeQ5_K(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q5_KBytes:], src[SuperBlock:] {
		q := quantizeAffine((*[16]byte)(dst), (*[SuperBlock]float32)(src), 31)
		for l := range 32 {
			dst[16+l] = 0
			for s := range 8 {
				dst[16+l] |= q[32*s+l] >> 4 << s
			}
		}
		for i := range 128 {
			c, l := i/32, i%32
			dst[48+i] = q[64*c+l]&15 | q[64*c+32+l]<<4
		}
	}
}

func dotQ5_K(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q5_KBytes:], x[SuperBlock:] {
		dequantizeQ5_K(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
