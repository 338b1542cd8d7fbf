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

// distributionOf keeps activations near unit variance: matrices have unit gain, norms are near 1, and the
// router's bias changes a selection now and then.
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

// filler draws random blocks of one tensor.
type filler struct {
	format *quant.Format
	rng    *rand.ChaCha8
	set    func(block []byte, sign byte) // quantised formats
	table  []byte                        // other formats: tableSize encoded elements
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

// fill fills buf, a multiple of the block size, with random blocks.
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

// tableSize is the number of different values in unquantised tensors. It must be a power of two of at most 16
// bits, because a random word of 64 bits gives four indices.
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
