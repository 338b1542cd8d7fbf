package quant

// splitAlign is what the length of a row must be a multiple of to be split, in bytes.
const splitAlign = 4

// splitFields are the formats whose blocks are not aligned to their words, with the
// sizes of a block's fields in bytes, in their order.
var splitFields = map[Type][]int{
	Q4_0: {2, 16},
	Q8_0: {2, 32},
	Q6_K: {128, 64, 16, 2},
}

// Splits says whether SplitRows changes rows of cols elements.
func (f *Format) Splits(cols int) bool {
	bytes, err := f.RowBytes(cols)
	return err == nil && splitFields[f.Type] != nil && bytes%splitAlign == 0
}

// SplitRows copies whole rows of cols elements, for which Splits holds, from src to
// dst and sets the fields of their blocks apart: a row then has the widest field
// of all of its blocks, then the next narrower one. Its length stays the same.
// Kernels that are compiled with SPLIT_ROWS read such rows by aligned words.
func (f *Format) SplitRows(dst, src []byte, cols int) {
	blocks := cols / f.BlockElems
	rowBytes := blocks * f.BlockBytes
	for len(src) >= rowBytes && rowBytes > 0 {
		from := 0 // of the field in a block
		for _, size := range splitFields[f.Type] {
			at := blocks * f.wider(size)
			for b := range blocks {
				copy(dst[at+b*size:at+(b+1)*size], src[b*f.BlockBytes+from:])
			}
			from += size
		}
		dst, src = dst[rowBytes:], src[rowBytes:]
	}
}

// wider is the bytes of a block's fields that are wider than size.
func (f *Format) wider(size int) int {
	n := 0
	for _, s := range splitFields[f.Type] {
		if s > size {
			n += s
		}
	}
	return n
}
