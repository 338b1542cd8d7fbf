package quant

// formatQ3_K is Q3_K: 256 elements in 110 bytes, 16 sub-blocks of 16.
//
//	hmask  [32]byte  bit k of byte l: third bit of element 32k+l
//	qs     [64]byte  the lower two bits of each element, see pairs
//	scales [12]byte  scales of six bits, see scalesQ3_K
//	d      half      scale of the scales
//
// element = d·(scale - 32)·(q - 4)
var formatQ3_K = Format{
	Type: Q3_K, Name: "q3_k", BlockElems: SuperBlock, BlockBytes: q3_KBytes,
	Dequantize: dequantizeQ3_K, Quantize: quantizeQ3_K, Dot: dotQ3_K,
	Halves: &HalfProducts{Magnitude: 4, Apart: 4, SubBlock: 16, Unpack: unpackQ3_K},
}

const (
	q3_KBytes  = 110
	q3_KPairs  = 32  // offset of qs
	q3_KScales = 96  // offset of scales
	q3_KScale  = 108 // offset of d
)

// scalesQ3_K unpacks the 16 scales, less 32, from 12 bytes: the low four bits of scale s are
// in byte s%8, in the low nibble for s < 8; the upper two are bits 2·(s/4) and up of byte 8+s%4.
func scalesQ3_K(packed *[12]byte) (scales [16]int8) {
	for s := range scales {
		low, high := packed[s%8]>>(s/8*4)&15, packed[8+s%4]>>(s/4*2)&3
		scales[s] = int8(low|high<<4) - 32
	}
	return scales
}

// packScalesQ3_K is the inverse of scalesQ3_K.
func packScalesQ3_K(packed *[12]byte, scales *[16]int8) {
	clear(packed[:])
	for s, v := range scales {
		q := uint8(v + 32)
		packed[s%8] |= q & 15 << (s / 8 * 4)
		packed[8+s%4] |= q >> 4 << (s / 4 * 2)
	}
}

func dequantizeQ3_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[q3_KBytes:] {
		d := halfAt(src[q3_KScale:])
		for s, scale := range scalesQ3_K((*[12]byte)(src[q3_KScales:])) {
			qs, shift := pairs(src[q3_KPairs:], s)
			high, bit := (*[16]byte)(src[s%2*16:]), s/2
			w, scale := (*[16]float32)(dst[16*s:]), d*float32(scale)
			for l, b := range qs {
				w[l] = scale * float32(int(b>>shift&3|high[l]>>bit&1<<2)-4)
			}
		}
	}
}

func unpackQ3_K(block []byte, q []int16, scales []Affine) {
	d := halfAt(block[q3_KScale:])
	for s, scale := range scalesQ3_K((*[12]byte)(block[q3_KScales:])) {
		qs, shift := pairs(block[q3_KPairs:], s)
		high, bit := (*[16]byte)(block[s%2*16:]), s/2
		for l, b := range qs {
			q[16*s+l] = int16(b>>shift&3|high[l]>>bit&1<<2) - 4
		}
		scales[s] = Affine{D: d * float32(scale)}
	}
}

func quantizeQ3_K(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q3_KBytes:], src[SuperBlock:] {
		// The extreme of each sub-block becomes -4 and the largest scale -32, the ends of
		// the ranges that reach further.
		var want [16]float32
		for s := range want {
			want[s] = extreme(src[16*s:16*s+16]) / -4
		}
		d := putHalf(dst[q3_KScale:], extreme(want[:])/-32)
		invD := inverse(d)
		var q [SuperBlock]uint8
		var scales [16]int8
		clear(dst[:32])
		for s := range want {
			scales[s] = int8(round(want[s]*invD, -32, 31))
			inv := inverse(d * float32(scales[s]))
			for l, f := range src[16*s : 16*s+16] {
				v := uint8(round(f*inv, -4, 3) + 4)
				q[16*s+l] = v
				dst[s%2*16+l] |= v >> 2 << (s / 2)
			}
		}
		packPairs(dst[q3_KPairs:], &q)
		packScalesQ3_K((*[12]byte)(dst[q3_KScales:]), &scales)
	}
}

func dotQ3_K(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q3_KBytes:], x[SuperBlock:] {
		dequantizeQ3_K(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
