package quant

import (
	"math/bits"
	"slices"
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
}

// newCodeBook unpacks entries of group values, whose codes share the 16 bits of an entry evenly.
func newCodeBook(name string, group int, levels []int8, codes []uint16) *CodeBook {
	b := &CodeBook{Name: name, Group: group, levels: levels, codes: codes, values: make([]uint64, len(codes))}
	for i := range codes {
		for j := range group {
			b.values[i] |= uint64(uint8(levels[b.code(i, j)])) << (8 * j)
		}
	}
	return b
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

// nearest returns the entry with the least sum of squared distances from x - shift.
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
