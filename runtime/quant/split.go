package quant

import "encoding/binary"

const (
	// splitAlign divides the length of a row that can be split, in bytes.
	splitAlign = 4
	// wideAlign is the alignment of split rows in bytes: that of the widest load. A GPU copies 16 bytes to
	// threadgroup memory at once only from aligned addresses.
	wideAlign = 16
)

// splitFields lists the formats whose blocks are not aligned to their words, with the sizes in bytes of a
// block's fields, in order. The sizes of a block's fields are distinct, as adjacent fields of one size would
// be one field.
var splitFields = map[Type][]int{
	Q4_0: {2, 16},
	Q5_0: {2, 4, 16},
	Q8_0: {2, 32},
	Q6_K: {128, 64, 16, 2},

	Q3_K:        {32, 64, 12, 2},
	IQ3_XXS:     {2, 64, 32},
	IQ3_S:       {2, 64, 8, 32, 4},
	IQ2_XXS:     {2, 64},
	IQ2_XS:      {2, 64, 8},
	IQ2_S:       {2, 64, 16},
	IQ1_S:       {2, 32, 16},
	TQ1_0:       {48, 4, 2},
	TQ2_0:       {64, 2},
	NVFP4:       {4, 32},
	NVFP4Scaled: {8, 32},
	Q1_0:        {2, 16},
	Q2_0:        {2, 16},
}

// Splits says whether SplitRows changes rows of cols elements.
func (f *Format) Splits(cols int) bool {
	bytes, err := f.RowBytes(cols)
	return err == nil && splitFields[f.Type] != nil && bytes%splitAlign == 0
}

// SplitRowBytes is the length of a row of cols elements after SplitRows. Splits must hold.
func (f *Format) SplitRowBytes(cols int) int {
	return (cols/f.BlockElems*f.BlockBytes + wideAlign - 1) / wideAlign * wideAlign
}

// SplitRows copies whole rows of cols elements from src to dst and separates the fields of their blocks: a
// row then has the widest field of all of its blocks, then the next narrower one, and so on, then zeros up to
// SplitRowBytes. Splits must hold. Kernels that are compiled with SPLIT_ROWS read such rows by aligned words.
func (f *Format) SplitRows(dst, src []byte, cols int) {
	blocks := cols / f.BlockElems
	rowBytes, splitBytes := blocks*f.BlockBytes, f.SplitRowBytes(cols)
	for len(src) >= rowBytes && rowBytes > 0 {
		clear(dst[rowBytes:splitBytes])
		from := 0 // offset of the field in a block
		for _, size := range splitFields[f.Type] {
			at := blocks * f.wider(size)
			gather(dst[at:at+blocks*size], src[from:rowBytes], size, f.BlockBytes)
			from += size
		}
		dst, src = dst[splitBytes:], src[rowBytes:]
	}
}

// gather fills dst with fields of size bytes that are stride bytes apart in src. Fields of Q4_0's sizes, the
// shortest, are moved without a function call.
func gather(dst, src []byte, size, stride int) {
	le := binary.LittleEndian
	switch size {
	case 2:
		for ; len(dst) >= 2; dst = dst[2:] {
			le.PutUint16(dst, le.Uint16(src))
			src = src[min(stride, len(src)):]
		}
	case 16:
		for ; len(dst) >= 16; dst = dst[16:] {
			low, high := le.Uint64(src), le.Uint64(src[8:])
			le.PutUint64(dst, low)
			le.PutUint64(dst[8:], high)
			src = src[min(stride, len(src)):]
		}
	default:
		for ; len(dst) >= size; dst = dst[size:] {
			copy(dst[:size], src)
			src = src[min(stride, len(src)):]
		}
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
