package quant

// formatTQ1_0 is TQ1_0: 256 elements in 54 bytes, numbers of -1, 0 and 1 as the digits of fractions in base 3.
//
//	qs  [48]byte  five digits each: of bytes 0–31 digit k is element 32k+l, of bytes 32–47
//	              element 160+16k+l
//	qh  [4]byte   four digits each: digit k is element 240+4k+l
//	d   half      scale
//
// element = d·(digit - 1)
var formatTQ1_0 = Format{
	Type: TQ1_0, Name: "tq1_0", BlockElems: SuperBlock, BlockBytes: tq1_0Bytes,
	Dequantize: dequantizeTQ1_0, Quantize: quantizeTQ1_0, Dot: dotTQ1_0,
	Halves: &HalfProducts{Magnitude: 1, Apart: 4, SubBlock: 32, Unpack: unpackTQ1_0},
}

const (
	tq1_0Bytes = 54
	tq1_0Scale = 52 // offset of d
)

// tq1Runs lists the runs of bytes whose digits are stored together, and where their elements begin.
var tq1Runs = [...]struct{ from, bytes, digits, element int }{{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}}

func dequantizeTQ1_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[tq1_0Bytes:] {
		digitsTQ1_0(dst, src, halfAt(src[tq1_0Scale:]))
	}
}

// digitsTQ1_0 decodes a block with the scale d.
func digitsTQ1_0(dst []float32, src []byte, d float32) {
	for _, run := range tq1Runs {
		power := uint8(1)
		for k := range run.digits {
			w := dst[run.element+k*run.bytes:][:run.bytes]
			for l, b := range src[run.from : run.from+run.bytes] {
				// b/256 is a fraction: the power moves digit k just after the point, and the factor 3 before
				// it
				w[l] = d * float32(int(uint16(b*power)*3>>8)-1)
			}
			power *= 3
		}
	}
}

func unpackTQ1_0(block []byte, q []int16, scales []Affine) {
	var w [SuperBlock]float32
	digitsTQ1_0(w[:], block, 1)
	for i, v := range w {
		q[i] = int16(v)
	}
	for s := range scales {
		scales[s] = Affine{D: halfAt(block[tq1_0Scale:])}
	}
}

func quantizeTQ1_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[tq1_0Bytes:], src[SuperBlock:] {
		inv := inverse(putHalf(dst[tq1_0Scale:], ternaryScale(src[:SuperBlock])))
		for _, run := range tq1Runs {
			for l := range run.bytes {
				number := 0 // made of five digits
				for k := range 5 {
					number *= 3
					if k < run.digits {
						number += round(src[run.element+k*run.bytes+l]*inv, -1, 1) + 1
					}
				}
				dst[run.from+l] = byte((number*256 + 242) / 243) // rounded up, so that the decoder's products truncate to the right digits
			}
		}
	}
}

// ternaryScale is the scale that maps all elements to -1, 0 and 1: the largest magnitude.
func ternaryScale(src []float32) float32 {
	e := extreme(src)
	return max(e, -e)
}

func dotTQ1_0(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[tq1_0Bytes:], x[SuperBlock:] {
		dequantizeTQ1_0(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
