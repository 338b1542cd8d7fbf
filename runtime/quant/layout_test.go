package quant

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// bitsAt returns n bits of b from bit first on; bit 0 is the lowest of b[0].
func bitsAt(b []byte, first, n int) int {
	v := 0
	for i := range n {
		v |= int(b[(first+i)/8]>>((first+i)%8)&1) << i
	}
	return v
}

// half64 decodes the half at byte offset o, straight from IEEE 754.
func half64(b []byte, o int) float64 {
	mantissa, exponent := bitsAt(b, 8*o, 10), bitsAt(b, 8*o+10, 5)
	v := math.Ldexp(float64(1024+mantissa), exponent-25)
	if exponent == 0 {
		v = math.Ldexp(float64(mantissa), -24)
	}
	if bitsAt(b, 8*o+15, 1) == 1 {
		return -v
	}
	return v
}

// nibble32 returns the nibble of element i of 32 that are stored from byte o on
// as 16 low nibbles, then 16 high ones.
func nibble32(b []byte, o, i int) int { return bitsAt(b, 8*(o+i%16)+i/16*4, 4) }

// nibble256 returns the nibble of element i of a Q4_K or Q5_K block with its
// nibbles from byte o on.
func nibble256(b []byte, o, i int) int { return bitsAt(b, 8*(o+i/64*32+i%32)+i/32%2*4, 4) }

// scaleMin256 returns the 6-bit scale and minimum of sub-block j.
func scaleMin256(b []byte, j int) (scale, minimum float64) {
	const o = 4 * 8 // bit offset of the packed scales
	if j < 4 {
		return float64(bitsAt(b, o+8*j, 6)), float64(bitsAt(b, o+8*(j+4), 6))
	}
	s := bitsAt(b, o+8*(j+4), 4) | bitsAt(b, o+8*(j-4)+6, 2)<<4
	m := bitsAt(b, o+8*(j+4)+4, 4) | bitsAt(b, o+8*j+6, 2)<<4
	return float64(s), float64(m)
}

var (
	iq4Levels  = []float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	e2m1Values = []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
)

// elements defines every format a second time: element i of block b in exact
// arithmetic, read bit by bit.
var elements = map[Type]func(b []byte, i int) float64{
	F32: func(b []byte, _ int) float64 {
		return float64(math.Float32frombits(uint32(bitsAt(b, 0, 32))))
	},
	F16: func(b []byte, _ int) float64 { return half64(b, 0) },
	BF16: func(b []byte, _ int) float64 {
		return float64(math.Float32frombits(uint32(bitsAt(b, 0, 16)) << 16))
	},
	Q4_0: func(b []byte, i int) float64 { return half64(b, 0) * float64(nibble32(b, 2, i)-8) },
	Q4_1: func(b []byte, i int) float64 { return half64(b, 0)*float64(nibble32(b, 4, i)) + half64(b, 2) },
	Q5_0: func(b []byte, i int) float64 {
		return half64(b, 0) * float64(nibble32(b, 6, i)+16*bitsAt(b, 16+i, 1)-16)
	},
	Q5_1: func(b []byte, i int) float64 {
		return half64(b, 0)*float64(nibble32(b, 8, i)+16*bitsAt(b, 32+i, 1)) + half64(b, 2)
	},
	Q8_0: func(b []byte, i int) float64 { return half64(b, 0) * float64(int8(b[2+i])) },
	Q4_K: func(b []byte, i int) float64 {
		scale, minimum := scaleMin256(b, i/32)
		return half64(b, 0)*scale*float64(nibble256(b, 16, i)) - half64(b, 2)*minimum
	},
	Q5_K: func(b []byte, i int) float64 {
		scale, minimum := scaleMin256(b, i/32)
		q := nibble256(b, 48, i) + 16*bitsAt(b, 8*(16+i%32)+i/32, 1)
		return half64(b, 0)*scale*float64(q) - half64(b, 2)*minimum
	},
	Q6_K: func(b []byte, i int) float64 {
		half, k, l := i/128, i/32%4, i%32
		low := bitsAt(b, 8*(64*half+l+32*(k%2))+k/2*4, 4)
		high := bitsAt(b, 8*(128+32*half+l)+2*k, 2)
		return half64(b, 208) * float64(int8(b[192+i/16])) * float64(low+16*high-32)
	},
	IQ4_NL: func(b []byte, i int) float64 { return half64(b, 0) * iq4Levels[nibble32(b, 2, i)] },
	IQ4_XS: func(b []byte, i int) float64 {
		s := i / 32
		scale := bitsAt(b, 32+4*s, 4) + 16*bitsAt(b, 16+2*s, 2) - 32
		return half64(b, 0) * float64(scale) * iq4Levels[nibble32(b, 8+16*s, i%32)]
	},
	MXFP4: func(b []byte, i int) float64 { return math.Ldexp(e2m1Values[nibble32(b, 1, i)], int(b[0])-127) },
}

// randomBlocks returns n blocks of random bits whose halves are finite.
func randomBlocks(r *rand.Rand, f *Format, n int) []byte {
	b := make([]byte, n*f.BlockBytes)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for i := range n {
		f.tame(b[i*f.BlockBytes:])
	}
	return b
}

// scaleHalves are the offsets of the halves in a block.
var scaleHalves = map[Type][]int{
	F16: {0}, Q4_0: {0}, Q4_1: {0, 2}, Q5_0: {0}, Q5_1: {0, 2}, Q8_0: {0}, Q4_K: {0, 2}, Q5_K: {0, 2},
	Q6_K: {208}, IQ4_NL: {0}, IQ4_XS: {0}, BF16: {0}, F32: {2}, // the upper half of a float32
}

// tame clears the top bit of the exponent of every float in a block, so that it
// is finite and products with it do not overflow.
func (f *Format) tame(block []byte) {
	for _, o := range scaleHalves[f.Type] {
		block[o+1] &^= 0x40
	}
	switch f.Type {
	case MXFP4:
		block[0] &^= 0x80
	case NVFP4Scaled:
		block[3] = 0x3f // a factor of 0.5 to 2
	}
}

// TestDequantize compares with the bit-by-bit definition. The results are equal:
// products of the few bits of a scale and a code are exact in float32, and what
// follows rounds once, as converting the exact value does.
func TestDequantize(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	const blocks = 500
	for _, f := range Formats() {
		src := randomBlocks(r, f, blocks)
		got := make([]float32, blocks*f.BlockElems)
		f.Dequantize(got, src)
		for i := range got {
			want := float32(elements[f.Type](src[i/f.BlockElems*f.BlockBytes:], i%f.BlockElems))
			if got[i] != want {
				t.Errorf("%s: element %d = %v, want %v", f.Name, i, got[i], want)
				break
			}
		}
	}
}

// TestDequantizeByHand checks elements of blocks worked out on paper, which
// guards the definitions above against an error shared with the code.
func TestDequantizeByHand(t *testing.T) {
	// block builds a block of zeros with some bytes set.
	block := func(f *Format, set map[int]byte) []byte {
		b := make([]byte, f.BlockBytes)
		for i, v := range set {
			b[i] = v
		}
		return b
	}
	const one, half = 0x3c, 0x38 // upper bytes of the halves 1 and 0.5
	tests := []struct {
		f    *Format
		set  map[int]byte
		want map[int]float32
	}{
		{&formatQ4_0, map[int]byte{1: half, 2: 0xf3, 17: 0x08}, map[int]float32{0: -2.5, 16: 3.5, 15: 0, 31: -4}},
		{&formatQ4_1, map[int]byte{1: half, 3: one, 4: 0xf3}, map[int]float32{0: 2.5, 16: 8.5, 1: 1}},
		{&formatQ5_0, map[int]byte{1: half, 2: 0x01, 4: 0x02, 6: 0x03, 7: 0x40}, map[int]float32{0: 1.5, 17: 2, 1: -8}},
		{&formatQ5_1, map[int]byte{1: half, 3: one, 4: 0x01, 8: 0x03}, map[int]float32{0: 10.5, 1: 1}},
		{&formatQ8_0, map[int]byte{1: half, 2: 0x80, 33: 0x7f}, map[int]float32{0: -64, 31: 63.5}},
		{&formatQ4_K, map[int]byte{1: one, 3: half, 4: 3, 8: 2 | 0x40, 12: 0x21, 16: 0x05, 80: 0x07},
			// Sub-block 0: scale 3, minimum 2. Sub-block 4: scale 1, minimum 2 | 1<<4 = 18.
			map[int]float32{0: 14, 1: -1, 128: -2, 129: -9}},
		{&formatQ5_K, map[int]byte{1: one, 4: 3, 5: 2, 16: 0x03, 48: 0x51}, map[int]float32{0: 51, 32: 42, 33: 0}},
		{&formatQ6_K, map[int]byte{209: one, 192: 1, 198: 0xff, 0: 0x21, 128: 0xc2, 32: 0x30},
			// Element 0: 1 | 2<<4 = 33. Element 96 (k = 3): 3 | 3<<4 = 51, scale 6 of the half is -1.
			map[int]float32{0: 1, 96: -19, 1: -32, 97: 32}},
		{&formatIQ4_NL, map[int]byte{1: half, 2: 0xf8}, map[int]float32{0: 0.5, 16: 56.5, 1: -63.5}},
		{&formatIQ4_XS, map[int]byte{1: one, 2: 0x0c, 4: 0x30, 24: 0xf8}, map[int]float32{32: 19, 48: 2147, 0: 4064}},
		{&formatMXFP4, map[int]byte{0: 127, 1: 0xf1}, map[int]float32{0: 0.5, 16: -6, 1: 0}},
		{&formatBF16, map[int]byte{1: 0xc0}, map[int]float32{0: -2}},
		{&formatF16, map[int]byte{1: half}, map[int]float32{0: 0.5}},
		{&formatF32, map[int]byte{3: 0x40}, map[int]float32{0: 2}},
	}
	for _, tt := range tests {
		got := make([]float32, tt.f.BlockElems)
		tt.f.Dequantize(got, block(tt.f, tt.set))
		for i, want := range tt.want {
			if got[i] != want {
				t.Errorf("%s: element %d = %v, want %v", tt.f.Name, i, got[i], want)
			}
		}
	}
}

// TestMXFP4Scale checks every exponent, subnormal scales included.
func TestMXFP4Scale(t *testing.T) {
	for e := range 256 {
		if got, want := mxfp4Scale(uint8(e)), float32(math.Ldexp(1, e-128)); got != want {
			t.Errorf("mxfp4Scale(%d) = %v, want %v", e, got, want)
		}
	}
}

func TestPackScaleMin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 100 {
		var scales, mins [8]uint8
		for j := range 8 {
			scales[j], mins[j] = uint8(r.UintN(64)), uint8(r.UintN(64))
		}
		var q [12]byte
		packScaleMin(&q, &scales, &mins)
		for j := range 8 {
			if s, m := scaleMin(&q, j); s != scales[j] || m != mins[j] {
				t.Fatalf("sub-block %d: %d %d, want %d %d", j, s, m, scales[j], mins[j])
			}
		}
	}
}

// TestQuantizeWritesLittleEndian pins the byte order of a plain format.
func TestQuantizeWritesLittleEndian(t *testing.T) {
	b := make([]byte, 4)
	formatF32.Quantize(b, []float32{1})
	if got := binary.LittleEndian.Uint32(b); got != 0x3f800000 {
		t.Errorf("1 is stored as %#x", got)
	}
}
