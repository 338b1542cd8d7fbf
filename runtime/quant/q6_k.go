package quant

// formatQ6_K is Q6_K: 256 elements in 210 bytes, 16 sub-blocks of 16.
//
//	ql     [128]byte  low four bits
//	qh     [64]byte   upper two bits
//	scales [16]int8   scale of each sub-block
//	d      half       scale of the scales
//
// Each half of 128 elements takes 64 bytes of ql and 32 of qh. Element 32k+l of
// a half has its low bits in byte l+32·(k mod 2) of ql, in the low nibble for
// k < 2 and the high nibble otherwise, and its upper bits in bits 2k and 2k+1 of
// byte l of qh.
//
// element = d·scale·(q - 32)
var formatQ6_K = Format{
	Type: Q6_K, Name: "q6_k", BlockElems: SuperBlock, BlockBytes: q6_KBytes,
	Dequantize: dequantizeQ6_K, Quantize: quantizeQ6_K, Dot: dotQ6_K,
}

const (
	q6_KBytes  = 210
	q6_KHigh   = 128 // offset of qh
	q6_KScales = 192 // offset of scales
	q6_KScale  = 208 // offset of d
)

func dequantizeQ6_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[q6_KBytes:] {
		d := halfAt(src[q6_KScale:])
		for h := range 2 {
			ql, qh := (*[64]byte)(src[64*h:]), (*[32]byte)(src[q6_KHigh+32*h:])
			w := (*[128]float32)(dst[128*h:])
			var scales [8]float32
			for i := range scales {
				scales[i] = d * float32(int8(src[q6_KScales+8*h+i]))
			}
			for l, high := range qh {
				s, low0, low1 := l/16, ql[l], ql[l+32]
				w[l] = scales[s] * float32(int(low0&15|high<<4&48)-32)
				w[l+32] = scales[s+2] * float32(int(low1&15|high<<2&48)-32)
				w[l+64] = scales[s+4] * float32(int(low0>>4|high&48)-32)
				w[l+96] = scales[s+6] * float32(int(low1>>4|high>>2&48)-32)
			}
		}
	}
}

func quantizeQ6_K(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q6_KBytes:], src[SuperBlock:] {
		// The extreme of each sub-block becomes -32 and the largest scale -128,
		// the ends of the ranges that reach further.
		var want [16]float32
		for s := range want {
			want[s] = extreme(src[16*s:16*s+16]) / -32
		}
		d := putHalf(dst[q6_KScale:], extreme(want[:])/-128)
		invD := inverse(d)
		var q [SuperBlock]uint8
		for s := range want {
			scale := round(want[s]*invD, -128, 127)
			dst[q6_KScales+s] = byte(int8(scale))
			inv := inverse(d * float32(scale))
			for l, f := range src[16*s : 16*s+16] {
				q[16*s+l] = uint8(round(f*inv, -32, 31) + 32)
			}
		}
		for i := range 64 {
			h, l := i/32, i%32
			q := q[128*h : 128*h+128]
			dst[64*h+l] = q[l]&15 | q[l+64]<<4
			dst[64*h+l+32] = q[l+32]&15 | q[l+96]<<4
			dst[q6_KHigh+i] = q[l]>>4 | q[l+32]>>4<<2 | q[l+64]>>4<<4 | q[l+96]>>4<<6
		}
	}
}

func dotQ6_K(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[q6_KBytes:], x[SuperBlock:] {
		var block float32
		for h := range 2 {
			for s := range 2 {
				block += dotQuarterQ6_K(row[64*h+16*s:], row[q6_KHigh+32*h+16*s:], row[q6_KScales+8*h+s:], x[128*h+16*s:])
			}
		}
		sum += halfAt(row[q6_KScale:]) * block
	}
	return sum
}

// dotQuarterQ6_K returns the dot product, without d, of the four sub-blocks of a
// half that share 16 bytes of qh; ql, qh, scales and x begin at the first one's.
func dotQuarterQ6_K(ql, qh, scales []byte, x []float32) float32 {
	low0, low1, high := (*[16]byte)(ql), (*[16]byte)(ql[32:]), (*[16]byte)(qh)
	x0, x1, x2, x3 := (*[16]float32)(x), (*[16]float32)(x[32:]), (*[16]float32)(x[64:]), (*[16]float32)(x[96:])
	var s0, s1, s2, s3 float32
	for l, h := range high {
		a, b := low0[l], low1[l]
		s0 += float32(int(a&15|h<<4&48)-32) * x0[l]
		s1 += float32(int(b&15|h<<2&48)-32) * x1[l]
		s2 += float32(int(a>>4|h&48)-32) * x2[l]
		s3 += float32(int(b>>4|h>>2&48)-32) * x3[l]
	}
	scale := func(i int) float32 { return float32(int8(scales[i])) }
	return (scale(0)*s0 + scale(2)*s1) + (scale(4)*s2 + scale(6)*s3)
}
