package quant

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// CodeBook is a list of groups of four or eight values. A block stores the index of a group instead of the
// values. The formats IQ1 to IQ3 have code books.
type CodeBook struct {
	Name   string // of the kernels' table, such as "iq2_xxs"
	Group  int    // values of an entry
	levels []int8 // the values of the codes of an entry
	codes  []uint16
	// values is the entries: value i is byte i, signed, from the lowest on.
	values []uint64
	// starts returns the first halves of the entries, for nearest. It computes them once.
	starts func() []start
}

// start is the first half of one or more entries, as codes of their values.
type start struct {
	codes   [4]uint8
	entries []end
}

// end is the second half of an entry.
type end struct {
	index int
	codes [4]uint8
}

// maxStarts is the largest number of first halves: two values of eight levels, or four values of three levels.
const maxStarts = 81

// newCodeBook unpacks entries of group values, whose codes share the 16 bits of an entry evenly.
func newCodeBook(name string, group int, levels []int8, codes []uint16) *CodeBook {
	b := &CodeBook{Name: name, Group: group, levels: levels, codes: codes, values: make([]uint64, len(codes))}
	for i := range codes {
		for j := range group {
			b.values[i] |= uint64(uint8(levels[b.code(i, j)])) << (8 * j)
		}
	}
	b.starts = sync.OnceValue(b.byStart)
	return b
}

// byStart returns the distinct first halves, each with the second halves of its entries.
func (b *CodeBook) byStart() (list []start) {
	for i := range b.codes {
		var first, last [4]uint8
		for j := range b.Group / 2 {
			first[j], last[j] = uint8(b.code(i, j)), uint8(b.code(i, j+b.Group/2))
		}
		at := slices.IndexFunc(list, func(s start) bool { return s.codes == first })
		if at < 0 {
			at, list = len(list), append(list, start{codes: first})
		}
		list[at].entries = append(list[at].entries, end{i, last})
	}
	return list
}

// code is the code of value j of entry i, an index of levels.
func (b *CodeBook) code(i, j int) int {
	width := bits.Len(uint(len(b.levels) - 1))
	return int(b.codes[i]>>(width*j)) & (1<<width - 1)
}

// Values returns the entries: value i of an entry is its byte i, signed, from the lowest on.
func (b *CodeBook) Values() []uint64 { return b.values }

// Words returns the entries as kernels read them, 32 bits each. An entry of four values has a byte for each.
// An entry of eight has two bits for each, the index of its level: values 0, 1, 4 and 5 in the bits from 0
// on, and 2, 3, 6 and 7 in the bits from 8 on.
func (b *CodeBook) Words() []uint32 {
	words := make([]uint32, len(b.codes))
	for i, v := range b.values {
		if b.Group == 4 {
			words[i] = uint32(v)
			continue
		}
		for j := range 8 {
			words[i] |= uint32(b.code(i, j)) << (j%4/2*8 + j/4*4 + j%2*2)
		}
	}
	return words
}

// nearest returns the entry with the least sum of squared distances from x - shift, and that sum. Of several such
// entries it returns the first.
// A first half is skipped if its own distance, with the nearest levels after it, already exceeds the best sum.
// Rounding cannot change this: rounded sums of larger squares are not smaller.
func (b *CodeBook) nearest(x []float32, shift float32) (entry int, distance float32) {
	var squares [8][8]float32 // squares[j][code] is the squared distance of value j from the level of a code
	var least [8]float32      // least[j] is the least of squares[j]
	for j, f := range x {
		least[j] = float32(math.Inf(1))
		for code, level := range b.levels {
			e := f - shift - float32(level)
			squares[j][code] = e * e
			least[j] = min(least[j], squares[j][code])
		}
	}
	starts, half := b.starts(), b.Group/2
	var sums, bounds [maxStarts]float32
	first := 0
	for i := range starts {
		var sum float32
		for j, code := range starts[i].codes[:half] {
			sum += squares[j][code&7]
		}
		sums[i] = sum
		for _, d := range least[half:b.Group] {
			sum += d
		}
		if bounds[i] = sum; sum < bounds[first] {
			first = i
		}
	}
	distance = float32(len(x)) * 1e30
	rest := squares[half:b.Group]
	look := func(start int) {
		for _, e := range starts[start].entries {
			sum := sums[start]
			for j := range rest {
				sum += rest[j][e.codes[j&3]&7]
			}
			if sum < distance || sum == distance && e.index < entry {
				entry, distance = e.index, sum
			}
		}
	}
	look(first)
	for i := range starts {
		if bounds[i] <= distance && i != first {
			look(i)
		}
	}
	return entry, distance
}

// CodeBooks returns the code books of all formats, each once.
func CodeBooks() []*CodeBook {
	var list []*CodeBook
	for _, f := range Formats() {
		if f.Book != nil && !slices.Contains(list, f.Book) {
			list = append(list, f.Book)
		}
	}
	return list
}
