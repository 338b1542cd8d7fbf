package quant

// formatIQ4_NL is IQ4_NL: 32 elements in 18 bytes, 4-bit indices into a table of unequal steps.
//
//	d  half      scale
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element = d·iq4Table[nibble]
var formatIQ4_NL = Format{
	Type: IQ4_NL, Name: "iq4_nl", BlockElems: 32, BlockBytes: iq4_NLBytes,
	Dequantize: dequantizeIQ4_NL, Quantize: quantizeIQ4_NL, Dot: dotIQ4_NL,
}

const iq4_NLBytes = 18

// iq4Table holds the 16 levels of IQ4_NL and IQ4_XS, ascending.
var iq4Table = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func dequantizeIQ4_NL(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[iq4_NLBytes:] {
		unpackTable((*[32]float32)(dst), (*[16]byte)(src[2:]), &iq4Table, halfAt(src))
	}
}

func quantizeIQ4_NL(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq4_NLBytes:], src[32:] {
		inv := inverse(putHalf(dst, extreme(src[:32])/iq4Table[0]))
		packNibbles((*[16]byte)(dst[2:]), src, func(f float32) int { return nearest(&iq4Table, f*inv) })
	}
}

func dotIQ4_NL(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[iq4_NLBytes:], x[32:] {
		sum += halfAt(row) * dotTable((*[16]byte)(row[2:]), (*[32]float32)(x), &iq4Table)
	}
	return sum
}
