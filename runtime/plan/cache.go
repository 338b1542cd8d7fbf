package plan

import (
	"fmt"
	"iter"
	"slices"

	"mla/runtime/quant"
)

// CacheTypes lists the possible types of a latent cache whose rows have a given number of latent and of
// rotated columns. Q8_0 needs both to be multiples of its block, as kernels write the two separately.
func CacheTypes(latDim, peDim int) []quant.Type {
	types := []quant.Type{quant.F32, quant.F16}
	if f, _ := quant.Lookup(quant.Q8_0); latDim%f.BlockElems == 0 && peDim%f.BlockElems == 0 {
		types = append(types, quant.Q8_0)
	}
	return types
}

// CacheType is the type of latent caches with a name: f16, f32 or q8_0.
func CacheType(name string) (quant.Type, error) {
	f, ok := quant.ByName(name)
	if !ok || !slices.Contains(CacheTypes(0, 0), f.Type) {
		return 0, fmt.Errorf("is %q; expected f16, f32 or q8_0", name)
	}
	return f.Type, nil
}

// CacheTypes lists the types that the model's caches can have.
func (m *Model) CacheTypes() []quant.Type { return CacheTypes(m.KVLoraRank, m.QKRopeHeadDim) }

// Planes is the layout of a page's PageRows rows: one plane after the other, each with its part of every row.
// The numbers are the bytes of one row in each plane. F32 and F16 have one plane, the elements. Q8_0 has two,
// one of signed bytes and one of scales, like quant.SplitRows of all rows of a page as one. So the bytes of
// each row begin at a multiple of 32 bytes, which a GPU loads at once.
type Planes []int

// CachePlanes is the page layout of the model's cache in a type.
func (m *Model) CachePlanes(t quant.Type) (Planes, error) {
	f, ok := quant.Lookup(t)
	if !ok || !slices.Contains(CacheTypes(0, 0), t) {
		return nil, fmt.Errorf("KV cache of %s; expected f16, f32 or q8_0", t)
	}
	if !slices.Contains(m.CacheTypes(), t) {
		return nil, fmt.Errorf("KV cache of %s for rows of %d + %d columns; expected multiples of %d: use f16", t, m.KVLoraRank, m.QKRopeHeadDim, f.BlockElems)
	}
	dim := m.CacheDim()
	if t == quant.Q8_0 {
		return Planes{dim, dim / f.BlockElems * (f.BlockBytes - f.BlockElems)}, nil
	}
	return Planes{dim * f.BlockBytes}, nil
}

// RowBytes is the size of a row.
func (p Planes) RowBytes() int {
	n := 0
	for _, bytes := range p {
		n += bytes
	}
	return n
}

// Rows yields the offset and length in bytes, within a page, of each plane's part of n rows from first on.
func (p Planes) Rows(first, n int) iter.Seq2[int, int] {
	return func(yield func(offset, bytes int) bool) {
		at := 0
		for _, bytes := range p {
			if !yield(at+first*bytes, n*bytes) {
				return
			}
			at += PageRows * bytes
		}
	}
}
