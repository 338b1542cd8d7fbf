package synth

import (
	"math"
	"slices"

	"mla/runtime/quant"
)

// pattern says how a random block of a quantised format gets its scale. All bytes of the block are random at
// first, then the fields below are set. A factor is relative to the standard deviation of the elements. All
// halves of a block get the same random sign, so that the mean is 0 although the ranges of formats are
// asymmetric.
type pattern struct {
	halves   []half
	exponent int // 1 + offset of a power-of-two scale; 0: none
	// factor for the scale of the exponent
	exponentFactor float64
	patches        []patch
	// more returns patches that depend on the standard deviation of the elements.
	more func(std float64) []patch
}

type half struct {
	offset int
	factor float64
}

type patch struct {
	offset int
	bytes  []byte
	keep   byte // bits of the random bytes that stay; bytes must have 0 there
}

// Standard deviations of the random numbers of a block, before scaling.
var (
	std2 = uniformStd(4)

	std4  = uniformStd(16)
	std5  = uniformStd(32)
	std6  = uniformStd(64)
	std8  = uniformStd(256)
	stdNL = 67.44 // of the 16 values of IQ4_NL
	stdMX = 5.85  // of the 16 values of MXFP4
	// Root mean squares: of the integers -4 to 3 (rmsThree) and -1 to 2, whose mean is not 0; of -1, 0 and 1;
	// and of the odd numbers up to 31 and up to 15, which are the scales made of 4 and 3 random bits.
	rmsThree   = math.Sqrt(44.0 / 8)
	rmsTwo     = math.Sqrt(6.0 / 4)
	rmsTernary = math.Sqrt(2.0 / 3)
	rmsOdd4    = math.Sqrt((4*16*16 - 1) / 3.0)
	rmsOdd3    = math.Sqrt((4*8*8 - 1) / 3.0)
)

// uniformStd is the standard deviation of n equally likely consecutive integers.
func uniformStd(n int) float64 { return math.Sqrt(float64(n*n-1) / 12) }

// subScale is the scale of all sub-blocks of a super-block.
const subScale = 8

// kScales is the 12 bytes of Q4_K and Q5_K in which all eight scales are
// subScale and all eight minima are 12.
var kScales = []byte{8, 8, 8, 8, 12, 12, 12, 12, 12<<4 | 8, 12<<4 | 8, 12<<4 | 8, 12<<4 | 8}

var patterns = map[quant.Type]pattern{
	quant.Q4_0:   {halves: []half{{0, 1 / std4}}},
	quant.Q4_1:   {halves: []half{{0, 1 / std4}, {2, -7.5 / std4}}},
	quant.Q5_0:   {halves: []half{{0, 1 / std5}}},
	quant.Q5_1:   {halves: []half{{0, 1 / std5}, {2, -15.5 / std5}}},
	quant.Q8_0:   {halves: []half{{0, 1 / std8}}},
	quant.Q4_K:   {halves: []half{{0, 1 / (subScale * std4)}, {2, 7.5 / (12 * std4)}}, patches: []patch{{4, kScales, 0}}},
	quant.Q5_K:   {halves: []half{{0, 1 / (subScale * std5)}, {2, 15.5 / (12 * std5)}}, patches: []patch{{4, kScales, 0}}},
	quant.Q6_K:   {halves: []half{{208, 1 / (subScale * std6)}}, patches: []patch{{192, repeat(subScale, 16), 0}}},
	quant.IQ4_NL: {halves: []half{{0, 1 / stdNL}}},
	// Scales of 32+8: the low four bits are 8, the upper two 2.
	quant.IQ4_XS: {halves: []half{{0, 1 / (subScale * stdNL)}}, patches: []patch{{2, repeat(0xaa, 2), 0}, {4, repeat(0x88, 4), 0}}},
	quant.MXFP4:  {exponent: 1, exponentFactor: 1 / stdMX},
	// All scales are subScale; all minima 12, which is the mean of the numbers times it.
	quant.Q2_K: {halves: []half{{80, 1 / (subScale * std2)}, {82, 1 / (subScale * std2)}}, patches: []patch{{0, repeat(12<<4|subScale, 16), 0}}},
	// Scales of 32+8, as in IQ4_XS.
	quant.Q3_K:    {halves: []half{{108, 1 / (subScale * rmsThree)}}, patches: []patch{{96, repeat(0x88, 8), 0}, {104, repeat(0xaa, 4), 0}}},
	quant.IQ2_XXS: {halves: []half{{0, 8 / (rmsOdd4 * rmsOf(quant.IQ2_XXS, 0))}}},
	// Scales of 8, which stand for 17.
	quant.IQ2_XS:  {halves: []half{{0, 8 / (17 * rmsOf(quant.IQ2_XS, 0))}}, patches: []patch{{66, repeat(0x88, 8), 0}}},
	quant.IQ2_S:   {halves: []half{{0, 8 / (17 * rmsOf(quant.IQ2_S, 0))}}, patches: []patch{{74, repeat(0x88, 8), 0}}},
	quant.IQ3_XXS: {halves: []half{{0, 4 / (rmsOdd4 * rmsOf(quant.IQ3_XXS, 0))}}},
	quant.IQ3_S:   {halves: []half{{0, 1 / (17 * rmsOf(quant.IQ3_S, 0))}}, patches: []patch{{106, repeat(0x88, 4), 0}}},
	quant.IQ1_S:   {halves: []half{{0, 1 / (rmsOdd3 * rmsOf(quant.IQ1_S, 1.0/64))}}},
	quant.IQ1_M:   {more: scaleIQ1_M},
	quant.TQ1_0:   {halves: []half{{52, 1 / rmsTernary}}},
	quant.TQ2_0:   {halves: []half{{64, 1 / rmsTwo}}},
	quant.NVFP4:   {more: scalesNVFP4},
	quant.Q1_0:    {halves: []half{{0, 1}}},
	quant.Q2_0:    {halves: []half{{0, 1 / rmsTwo}}},
}

// rmsOf returns the root mean square of the values in the code book of a format, plus a shift of random sign
// whose square is shift.
func rmsOf(t quant.Type, shift float64) float64 {
	f, _ := quant.Lookup(t)
	var sum float64
	for _, entry := range f.Book.Values() {
		for i := range f.Book.Group {
			v := float64(int8(entry >> (8 * i)))
			sum += v * v
		}
	}
	return math.Sqrt(sum/float64(f.Book.Group*len(f.Book.Values())) + shift)
}

// scaleIQ1_M sets d, except its sign bit, in the upper nibbles of four words.
func scaleIQ1_M(std float64) (patches []patch) {
	d := quant.FloatToHalf(float32(std / (rmsOdd3 * rmsOf(quant.IQ1_M, 1.0/64))))
	for k := range 4 {
		p := patch{offset: 49 + 2*k, bytes: []byte{byte(d >> (4 * k) & 15 << 4)}, keep: 0x0f}
		if k == 3 {
			p.keep = 0x8f
		}
		patches = append(patches, p)
	}
	return patches
}

// scalesNVFP4 sets all scales to the representable number nearest to the right one.
func scalesNVFP4(std float64) []patch {
	f, _ := quant.Lookup(quant.NVFP4)
	block, elements := make([]byte, f.BlockBytes), make([]float32, f.BlockElems)
	for i := range elements {
		elements[i] = float32(std * 12 / stdMX) // the largest of the values
	}
	f.Quantize(block, elements)
	return []patch{{bytes: block[:4]}}
}

func repeat(b byte, n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = b
	}
	return list
}

// setter returns a function that sets the fields in a block of random bytes.
func (p *pattern) setter(std float64) func(block []byte, sign byte) {
	var scales []uint16
	patches := p.patches
	if p.more != nil {
		patches = append(slices.Clip(patches), p.more(std)...)
	}
	for _, h := range p.halves {
		scales = append(scales, quant.FloatToHalf(float32(h.factor*std)))
	}
	// An E8M0 scale e multiplies the integer values (twice the E2M1 ones) by 2^(e-128).
	exponent := byte(128 + math.Round(math.Log2(p.exponentFactor*std)))
	return func(block []byte, sign byte) {
		for i, h := range p.halves {
			block[h.offset] = byte(scales[i])
			block[h.offset+1] = byte(scales[i]>>8) ^ sign&0x80
		}
		for _, c := range patches {
			for i, b := range c.bytes {
				block[c.offset+i] = block[c.offset+i]&c.keep | b
			}
		}
		if p.exponent > 0 {
			block[p.exponent-1] = exponent
		}
	}
}
