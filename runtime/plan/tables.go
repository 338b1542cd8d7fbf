package plan

import (
	"slices"

	"mla/runtime/quant"
)

// The functions that generated tables are written with, beside Expand. Their names are short, as every clone
// has these tables.

// VariantName is the name of a kernel's function for a combination of types.
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

// At is an operand: a byte range of the arena.
func At(offset, bytes int64) Operand {
	return Operand{Space: SpaceArena, Offset: offset, Bytes: bytes}
}

// Of is an operand: a whole space, or the dispatch's own part of it.
func Of(space Space) Operand { return Operand{Space: space} }

// OfWeight is an operand: a weight of the dispatch's layer.
func OfWeight(index int) Operand { return Operand{Index: index} }

// OfNext is an operand: a weight of the layer after the dispatch's.
func OfNext(index int) Operand { return Operand{Index: index, Ahead: 1} }

// OfCache is an operand: the latent cache of a layer.
func OfCache(layer int) Operand { return Operand{Space: SpaceKV, Index: layer} }

// OfArgs is an operand: the dispatch's constants, with their size in bytes.
func OfArgs(bytes int64) Operand { return Operand{Space: SpaceArgs, Bytes: bytes} }

// OfPick is an operand: bytes bytes of the memory of picks, from offset on.
func OfPick(offset, bytes int64) Operand {
	return Operand{Space: SpacePick, Offset: offset, Bytes: bytes}
}

// OfCounter is an operand: bytes bytes of the counters, from offset on.
func OfCounter(offset, bytes int64) Operand {
	return Operand{Space: SpaceCounters, Offset: offset, Bytes: bytes}
}

// VecOf returns the vectors in a slot. Each begins stride elements after the one before.
func VecOf(slot, stride int) Vec { return Vec{Slot: slot, Stride: stride} }

// The slots of most kernels.
var (
	RowSlot    = Slot{Name: "current", Space: SpaceRow, Elem: ElemRow}
	ArgsSlot   = Slot{Name: "args", Space: SpaceArgs, Elem: ElemArgs}
	TablesSlot = Slot{Name: "tables", Space: SpaceTables, Elem: ElemU32}
)

// After is a dispatch that waits for all earlier ones.
func After(kernel, layer int, operands ...Operand) Dispatch {
	return Dispatch{Kernel: kernel, Layer: layer, Barrier: true, Operands: operands}
}

// Beside is a dispatch that may run at the same time as the one before.
func Beside(kernel, layer int, operands ...Operand) Dispatch {
	return Dispatch{Kernel: kernel, Layer: layer, Operands: operands}
}

// Shifted returns the sequence for a bundle in which the kernels have higher indices, by the given number.
func (q Sequence) Shifted(kernels int) Sequence {
	q.Dispatches = slices.Clone(q.Dispatches)
	for i := range q.Dispatches {
		q.Dispatches[i].Kernel += kernels
	}
	return q
}
