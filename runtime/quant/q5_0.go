package quant

import "encoding/binary"

// formatQ5_0 is Q5_0: 32 elements in 22 bytes.
//
//	d  half      scale
//	qh uint32    bit i: fifth bit of element i
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element i = d·((nibble | bit i of qh << 4) - 16)
var formatQ5_0 = Format{
	Type: Q5_0, Name: "q5_0", BlockElems: 32, BlockBytes: q5_0Bytes,
	Dequantize: dequantizeQ5_0, Quantize: quantizeQ5_0, Dot: dotQ5_0,
	Halves: &HalfProducts{Magnitude: 16, Apart: 16, SubBlock: 32, Unpack: unpackQ5_0},
}

const q5_0Bytes = 22

func dequantizeQ5_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[q5_0Bytes:] {
		d, qh := halfAt(src), binary.LittleEndian.Uint32(src[2:])
		qs, w := (*[16]byte)(src[6:]), (*[32]float32)(dst)
		for j, b := range qs {
			low := uint32(b&15) | qh<<4&16
			high := uint32(b>>4) | qh>>12&16
			w[j] = d * float32(int32(low)-16)
			w[j+16] = d * float32(int32(high)-16)
			qh >>= 1
		}
	}
}

func unpackQ5_0(block []byte, q []int16, scales []Affine) {
	unpack5(binary.LittleEndian.Uint32(block[2:]), block[6:q5_0Bytes], -16, q)
	scales[0] = Affine{D: halfAt(block)}
}

// unpack5 adds bias to the 32 numbers of five bits with fifth bits qh and low nibbles
// qs, in the order of a block's elements.
func unpack5(qh uint32, qs []byte, bias int16, q []int16) {
	for j, b := range qs {
		q[j] = int16(b&15) + int16(qh>>j&1<<4) + bias
		q[j+16] = int16(b>>4) + int16(qh>>(j+16)&1<<4) + bias
	}
}

func quantizeQ5_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q5_0Bytes:], src[32:] {
		inv := inverse(putHalf(dst, extreme(src[:32])/-16))
		pack5((*[20]byte)(dst[2:]), src, func(f float32) int { return round(f*inv, -16, 15) + 16 })
	}
}

func dotQ5_0(row []byte, x []float32) float32 {
	var w [32]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q5_0Bytes:], x[32:] {
		dequantizeQ5_0(w[:], row)
		sum += DotFloats(w[:], x[:32])
	}
	return sum
}
