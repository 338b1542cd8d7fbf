package quant

import "encoding/binary"

// formatIQ1_S is IQ1_S: 256 elements in 50 bytes, 8 sub-blocks of 32, groups of 8.
//
//	d   half       scale of the scales
//	qs  [32]byte   per group: lower eight bits of the entry of the code book
//	qh  [8]uint16  per sub-block: bits 3l…3l+2: upper bits of the entry of group l, bits 12–14:
//	               scale s, bit 15: sign of the shift
//
// element = d·(2s+1)·(value ± 1/8)
var formatIQ1_S = Format{
	Type: IQ1_S, Name: "iq1_s", BlockElems: SuperBlock, BlockBytes: iq1_SBytes,
	Dequantize: dequantizeIQ1_S, Quantize: quantizeIQ1_S, Dot: dotIQ1_S, Book: iq1Book,
	Halves: &HalfProducts{Magnitude: 1, Apart: 4, SubBlock: 32, Unpack: unpackIQ1_S},
}

const (
	iq1_SBytes = 50
	iq1_SHigh  = 34 // offset of qh
	iq1Shift   = 0.125
	// iq1Largest is the largest magnitude of a value and its shift.
	iq1Largest = 1 + iq1Shift
)

// iq1Book is the code book of IQ1_S and IQ1_M.
var iq1Book = newCodeBook("iq1", 8, []int8{-1, 0, 1}, iq1Codes[:])

func dequantizeIQ1_S(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq1_SBytes:] {
		d := halfAt(src)
		for s := range 8 {
			qh := int(binary.LittleEndian.Uint16(src[iq1_SHigh+2*s:]))
			scale := d * float32(qh>>12&7*2+1)
			for l := range 4 {
				g := 4*s + l
				unpackShifted(dst[8*g:8*g+8], int(src[2+g])|qh>>(3*l)&7<<8, qh>>15, scale)
			}
		}
	}
}

// unpackShifted decodes a group of IQ1: scale times the values of an entry, each plus 1/8, or minus 1/8 if
// minus is 1.
func unpackShifted(dst []float32, entry, minus int, scale float32) {
	values, shift := iq1Book.values[entry], iq1Shift*float32(1-2*minus)
	for i := range dst {
		dst[i] = scale * (float32(int8(values)) + shift)
		values >>= 8
	}
}

// nearestShifted finds the entry of a group of values and whether the shift of 1/8 is negative.
func nearestShifted(src []float32, scale float32) (entry, minus int) {
	var x [8]float32
	inv := inverse(scale)
	for i := range x {
		x[i] = src[i] * inv
	}
	entry, plus := iq1Book.nearest(x[:], iq1Shift)
	if other, distance := iq1Book.nearest(x[:], -iq1Shift); distance < plus {
		return other, 1
	}
	return entry, 0
}

func unpackIQ1_S(block []byte, q []int16, scales []Affine) {
	d := halfAt(block)
	for s := range scales {
		qh := int(binary.LittleEndian.Uint16(block[iq1_SHigh+2*s:]))
		for l := range 4 {
			g := 4*s + l
			signedIntegers(q[8*g:], iq1Book.values[int(block[2+g])|qh>>(3*l)&7<<8], 0)
		}
		scales[s] = shifted(d*float32(qh>>12&7*2+1), qh>>15)
	}
}

// shifted is the Affine of scale·(q ± 1/8), with the sign of minus.
func shifted(scale float32, minus int) Affine {
	return Affine{scale, scale * iq1Shift * float32(1-2*minus)}
}

func quantizeIQ1_S(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq1_SBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, 1, iq1Largest, 7, 32, src[:SuperBlock])
		for s := range 8 {
			scale := d * float32(2*codes[s]+1)
			_, minus := nearestShifted(src[32*s:], scale) // the sign is that of all four groups
			qh := codes[s]<<12 | minus<<15
			for l := range 4 {
				g := 4*s + l
				var x [8]float32
				for i := range x {
					x[i] = src[8*g+i] * inverse(scale)
				}
				entry, _ := iq1Book.nearest(x[:], iq1Shift*float32(1-2*minus))
				dst[2+g] = byte(entry)
				qh |= entry >> 8 << (3 * l)
			}
			binary.LittleEndian.PutUint16(dst[iq1_SHigh+2*s:], uint16(qh))
		}
	}
}

func dotIQ1_S(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq1_SBytes:], x[SuperBlock:] {
		dequantizeIQ1_S(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
