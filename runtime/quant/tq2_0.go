package quant

// formatTQ2_0 is TQ2_0: 256 elements in 66 bytes, numbers of -1, 0 and 1 (and 2).
//
//	qs  [64]byte  two bits per element, see pairs
//	d   half      scale
//
// element = d·(q - 1)
var formatTQ2_0 = Format{
	Type: TQ2_0, Name: "tq2_0", BlockElems: SuperBlock, BlockBytes: tq2_0Bytes,
	Dequantize: dequantizeTQ2_0, Quantize: quantizeTQ2_0, Dot: dotTQ2_0,
	Halves: &HalfProducts{Magnitude: 2, Apart: 4, SubBlock: 16, Unpack: unpackTQ2_0},
}

const (
	tq2_0Bytes = 66
	tq2_0Scale = 64 // offset of d
)

func dequantizeTQ2_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[tq2_0Bytes:] {
		d := halfAt(src[tq2_0Scale:])
		for s := range 16 {
			qs, shift := pairs(src, s)
			w := (*[16]float32)(dst[16*s:])
			for l, b := range qs {
				w[l] = d * float32(int(b>>shift&3)-1)
			}
		}
	}
}

func unpackTQ2_0(block []byte, q []int16, scales []Affine) {
	for s := range 16 {
		qs, shift := pairs(block, s)
		for l, b := range qs {
			q[16*s+l] = int16(b>>shift&3) - 1
		}
		scales[s] = Affine{D: halfAt(block[tq2_0Scale:])}
	}
}

func quantizeTQ2_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[tq2_0Bytes:], src[SuperBlock:] {
		inv := inverse(putHalf(dst[tq2_0Scale:], ternaryScale(src[:SuperBlock])))
		var q [SuperBlock]uint8
		for i := range q {
			q[i] = uint8(round(src[i]*inv, -1, 1) + 1)
		}
		packPairs(dst, &q)
	}
}

func dotTQ2_0(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[tq2_0Bytes:], x[SuperBlock:] {
		dequantizeTQ2_0(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
