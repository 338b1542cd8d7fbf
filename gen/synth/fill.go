package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"mla/gen/weights"
	"mla/runtime/quant"
)

// distribution is the mean and standard deviation of a tensor's elements.
type distribution struct{ mean, std float64 }

// distributionOf keeps activations near unit variance: matrices have unit gain,
// norms are near 1, and the router's bias moves a choice now and then.
func distributionOf(row *weights.Row) distribution {
	switch {
	case row.Role == weights.RouterBias:
		return distribution{0, 0.1}
	case row.Vector:
		return distribution{1, 0.1}
	default:
		return distribution{0, 1 / math.Sqrt(float64(row.Cols))}
	}
}

// pattern says how a random block of a quantised format gets its scale: all its
// bytes are random, then the fields below are set. A factor is relative to the
// standard deviation of the elements. The halves of a block share a random
// sign, so that the asymmetric ranges of formats leave no bias.
type pattern struct {
	halves   []half
	exponent int // 1 + offset of a power-of-two scale; 0: none
	// factor of the exponent's scale
	exponentFactor float64
	patches        []patch
}

type half struct {
	offset int
	factor float64
}

type patch struct {
	offset int
	bytes  []byte
}

// Standard deviations of the random quants of a block.
var (
	std4  = uniformStd(16)
	std5  = uniformStd(32)
	std6  = uniformStd(64)
	std8  = uniformStd(256)
	stdNL = 67.44 // of the 16 values of IQ4_NL
	stdMX = 5.85  // of the 16 values of MXFP4
)

// uniformStd is the standard deviation of n equally likely consecutive integers.
func uniformStd(n int) float64 { return math.Sqrt(float64(n*n-1) / 12) }

// subScale is the scale that sub-blocks of super-blocks get: a middling one.
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
	quant.Q4_K:   {halves: []half{{0, 1 / (subScale * std4)}, {2, 7.5 / (12 * std4)}}, patches: []patch{{4, kScales}}},
	quant.Q5_K:   {halves: []half{{0, 1 / (subScale * std5)}, {2, 15.5 / (12 * std5)}}, patches: []patch{{4, kScales}}},
	quant.Q6_K:   {halves: []half{{208, 1 / (subScale * std6)}}, patches: []patch{{192, repeat(subScale, 16)}}},
	quant.IQ4_NL: {halves: []half{{0, 1 / stdNL}}},
	// Scales of 32+8: the low four bits are 8, the upper two 2.
	quant.IQ4_XS: {halves: []half{{0, 1 / (subScale * stdNL)}}, patches: []patch{{2, repeat(0xaa, 2)}, {4, repeat(0x88, 4)}}},
	quant.MXFP4:  {exponent: 1, exponentFactor: 1 / stdMX},
}

func repeat(b byte, n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = b
	}
	return list
}

// filler draws blocks of one tensor.
type filler struct {
	format *quant.Format
	rng    *rand.ChaCha8
	set    func(block []byte, sign byte) // quantised formats
	table  []byte                        // others: tableSize encoded elements
}

func newFiller(t quant.Type, d distribution, rng *rand.ChaCha8) (*filler, error) {
	format, ok := quant.Lookup(t)
	if !ok {
		return nil, fmt.Errorf("quant type %v is not known", t)
	}
	f := &filler{format: format, rng: rng}
	if format.BlockElems == 1 {
		f.table = normalTable(format, d)
		return f, nil
	}
	p, ok := patterns[t]
	if !ok {
		return nil, fmt.Errorf("no random blocks of type %v can be made", t)
	}
	f.set = p.setter(d.std)
	return f, nil
}

// setter returns a function that gives a block of random bytes its fields.
func (p *pattern) setter(std float64) func(block []byte, sign byte) {
	var scales []uint16
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
		for _, c := range p.patches {
			copy(block[c.offset:], c.bytes)
		}
		if p.exponent > 0 {
			block[p.exponent-1] = exponent
		}
	}
}

// fill draws the whole blocks that buf has room for.
func (f *filler) fill(buf []byte) {
	if f.table != nil {
		f.fillElements(buf)
		return
	}
	f.rng.Read(buf) // never fails
	size := f.format.BlockBytes
	for ; len(buf) > 0; buf = buf[size:] {
		block := buf[:size:size]
		f.set(block, block[1])
	}
}

// tableSize is the number of different values of unquantised tensors. It is a
// power of two that four times 16 random bits can index.
const tableSize = 1 << 12

// normalTable encodes the quantiles of a normal distribution.
func normalTable(format *quant.Format, d distribution) []byte {
	values := make([]float32, tableSize)
	for i := range values {
		p := (float64(i) + 0.5) / tableSize
		values[i] = float32(d.mean + d.std*math.Sqrt2*math.Erfinv(2*p-1))
	}
	table := make([]byte, tableSize*format.BlockBytes)
	format.Quantize(table, values)
	return table
}

// fillElements draws elements from the table, four for each random word.
func (f *filler) fillElements(buf []byte) {
	size := f.format.BlockBytes
	var word uint64
	for left := 0; len(buf) > 0; buf = buf[size:] {
		if left == 0 {
			word, left = f.rng.Uint64(), 4
		}
		at := int(word%tableSize) * size
		copy(buf[:size], f.table[at:at+size])
		word >>= 16
		left--
	}
}
