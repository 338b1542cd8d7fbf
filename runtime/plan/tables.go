package plan

import (
	"slices"

	"mla/runtime/quant"
)

// What generated tables are written with, beside Expand: short, as every clone has them.

// VariantName is the function of a kernel for some types.
func VariantName(kernel string, types []quant.Type) string {
	name := kernel
	for _, t := range types {
		name += "_" + t.String()
	}
	return name
}

// Variants lists a kernel's variants, one for each combination of types.
func Variants(kernel string, types [][]quant.Type) []Variant {
	list := make([]Variant, len(types))
	for i, t := range types {
		list[i].Func = VariantName(kernel, t)
		if len(t) > 0 {
			list[i].Types = t
		}
	}
	return list
}

// At is a byte range in the arena.
func At(offset, bytes int64) Operand {
	return Operand{Space: SpaceArena, Offset: offset, Bytes: bytes}
}

// Shifted is the same sequence in a bundle whose kernels come so many places later.
func (q Sequence) Shifted(kernels int) Sequence {
	q.Dispatches = slices.Clone(q.Dispatches)
	for i := range q.Dispatches {
		q.Dispatches[i].Kernel += kernels
	}
	return q
}
