package quant

import (
	"math/bits"
	"slices"
)

// CodeBook is a list of groups of four or eight values: a block has the index of a group, not
// the values. The formats IQ1 to IQ3 have code books.
type CodeBook struct {
	Name   string // of the table of kernels, "iq2_xxs"
	Group  int    // values of an entry
	levels []int8 // what the codes of an entry stand for
	codes  []uint16
	// values are the entries: value i is the signed byte i, from the lowest one on.
	values []uint64
}

// newCodeBook unpacks entries of group values, each a code of as many bits as 16 have room for.
func newCodeBook(name string, group int, levels []int8, codes []uint16) *CodeBook {
	b := &CodeBook{Name: name, Group: group, levels: levels, codes: codes, values: make([]uint64, len(codes))}
	for i := range codes {
		for j := range group {
			b.values[i] |= uint64(uint8(levels[b.code(i, j)])) << (8 * j)
		}
	}
	return b
}

// code is the number of the level that value j of entry i has.
func (b *CodeBook) code(i, j int) int {
	width := bits.Len(uint(len(b.levels) - 1))
	return int(b.codes[i]>>(width*j)) & (1<<width - 1)
}

// Values returns the entries: value i of one is its signed byte i, from the lowest one on.
func (b *CodeBook) Values() []uint64 { return b.values }

// Words returns the entries as kernels look them up. Four values are a byte each, of 32 bits. Eight are the numbers of their
// levels, two bits each of 16: values 0, 1, 4 and 5 from bit 0 on, and 2, 3, 6 and 7 from bit 8 on.
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

// nearest returns the entry with the least sum of squared distances to the values of x, less
// shift.
func (b *CodeBook) nearest(x []float32, shift float32) (entry int, distance float32) {
	distance = float32(len(x)) * 1e30
	for i, v := range b.values {
		var sum float32
		for _, f := range x {
			e := f - shift - float32(int8(v))
			sum += e * e
			v >>= 8
		}
		if sum < distance {
			entry, distance = i, sum
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
