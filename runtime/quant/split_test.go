package quant

import (
	"bytes"
	"slices"
	"testing"
)

// TestSplitRows checks that the fields of a row's blocks are stored side by side, that rows begin at
// multiples of 16 bytes, and that nothing is lost.
func TestSplitRows(t *testing.T) {
	for _, c := range []struct {
		typ   Type
		cols  int
		where func(block, i int) int // byte i of a block, in a split row
	}{
		{Q4_0, 128, func(b, i int) int {
			if i < 2 {
				return 64 + 2*b + i
			}
			return 16*b + i - 2
		}},
		{Q5_0, 128, func(b, i int) int {
			switch {
			case i < 2:
				return 80 + 2*b + i
			case i < 6:
				return 64 + 4*b + i - 2
			}
			return 16*b + i - 6
		}},
		{Q8_0, 64, func(b, i int) int {
			if i < 2 {
				return 64 + 2*b + i
			}
			return 32*b + i - 2
		}},
		{Q6_K, 1024, func(b, i int) int {
			switch {
			case i < 128:
				return 128*b + i
			case i < 192:
				return 512 + 64*b + i - 128
			case i < 208:
				return 768 + 16*b + i - 192
			}
			return 832 + 2*b + i - 208
		}},
		{IQ3_S, 512, func(b, i int) int {
			switch {
			case i < 2:
				return 216 + 2*b + i
			case i < 66:
				return 64*b + i - 2
			case i < 74:
				return 192 + 8*b + i - 66
			case i < 106:
				return 128 + 32*b + i - 74
			}
			return 208 + 4*b + i - 106
		}},
	} {
		f, _ := Lookup(c.typ)
		blocks := c.cols / f.BlockElems
		rowBytes := blocks * f.BlockBytes
		splitBytes := f.SplitRowBytes(c.cols)
		src, dst, want := make([]byte, 3*rowBytes), bytes.Repeat([]byte{1}, 3*splitBytes), make([]byte, 3*splitBytes)
		for i := range src {
			src[i] = byte(i*7 + i>>8)
			row, in := i/rowBytes, i%rowBytes
			want[row*splitBytes+c.where(in/f.BlockBytes, in%f.BlockBytes)] = src[i]
		}
		if !f.Splits(c.cols) || splitBytes%16 != 0 || splitBytes < rowBytes || splitBytes > rowBytes+15 {
			t.Errorf("%s: rows of %d are split: %t, of %d bytes %d", c.typ, c.cols, f.Splits(c.cols), rowBytes, splitBytes)
		}
		f.SplitRows(dst, src, c.cols)
		if !bytes.Equal(dst, want) {
			t.Errorf("%s: rows differ", c.typ)
		}
	}
	for typ, fields := range splitFields {
		f, _ := Lookup(typ)
		sum := 0
		for i, size := range fields {
			sum += size
			if slices.Contains(fields[:i], size) {
				t.Errorf("%s: two fields of %d bytes, which would lie in one place", typ, size)
			}
		}
		if sum != f.BlockBytes {
			t.Errorf("%s: fields of %d bytes; a block has %d", typ, sum, f.BlockBytes)
		}
	}
	for typ, cols := range map[Type]int{Q4_0: 96, Q8_0: 32, Q6_K: 256, Q4_K: 1024, F16: 64} {
		if f, _ := Lookup(typ); f.Splits(cols) {
			t.Errorf("%s: rows of %d are split", typ, cols)
		}
	}
}
