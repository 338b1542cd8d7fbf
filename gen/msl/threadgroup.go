package msl

import (
	"mla/gen/spec"
	"mla/runtime/plan"
)

// groupMemory is what a class of devices has for a threadgroup.
type groupMemory struct {
	bytes  int  // that a kernel may declare
	copies bool // into it that take no registers on their way
}

// groupMemories is the table of classes; "": devices of any class without a line.
var groupMemories = map[string]groupMemory{
	"":               {bytes: maxThreadgroupBytes},
	plan.ClassNVIDIA: {bytes: 227 << 10, copies: true}, // an H100's or H200's multiprocessor has 228 kB, of which each threadgroup gives 1 kB to the system
}

// warpBytes is how much of it a prompt's product takes for each simdgroup: registers leave room for twelve.
const warpBytes = 18 << 10

// batchBytes is how much of it a batch's product takes: what a multiprocessor of an NVIDIA H200 has, shared by
// as many of the kernel's threadgroups as come to each if all are to run side by side. Of kernels of many
// threadgroups four share it.
func batchBytes(k *plan.Kernel) int {
	const all, share, most = 224 << 10, 4, 144 << 10
	return min(all/min(ceil(k.Groups(), spec.Multiprocessors), share), most)
}

// ThreadgroupMemory is how many bytes of it a kernel may declare for a class of devices.
func ThreadgroupMemory(class string) int { return roomOf(class).bytes }

func roomOf(class string) groupMemory {
	if m, ok := groupMemories[class]; ok {
		return m
	}
	return groupMemories[""]
}

// room is that of the bundle's devices.
func (p *printer) room() groupMemory {
	if p == nil {
		return roomOf("")
	}
	return roomOf(p.bundle.Class)
}

// ThreadgroupBytes is the most threadgroup memory that a kernel's variants declare.
// It fails like Print if that is more than a GPU has.
func ThreadgroupBytes(k *plan.Kernel) (int, error) {
	v := &kernelView{Kernel: k, names: argumentNames(k)}
	_, floats, err := v.parts()
	return 4 * floats, err
}

// floats is the threadgroup memory of a part in floats.
func (v *partView) floats() int {
	if v.body.floats == nil {
		return 0
	}
	return v.body.floats(v)
}

// laneFloats is that of a product whose lanes multiply.
func (v *partView) laneFloats() int {
	return v.SlicesAt() + v.slicesFloats(v.Product.Up, v.Product.NormApply)
}

// SlicesAt is where the sums of simdgroups that share rows are, behind the input
// and what chooses the experts.
func (v *partView) SlicesAt() int {
	m := v.Product
	if m.Combine != nil {
		return m.Cols + combineFloats(m.Combine, m.Cols, v.Threads)
	}
	return v.normFloats(m.Norm) + chosenFloats(m.Gating)
}

// SliceFloats is one sum of every simdgroup for each of its results.
func (v *partView) SliceFloats() int { return v.Simdgroups() * v.Sums() }

// SquaresAt is where the simdgroups' sums of squares are, behind their other sums.
func (v *partView) SquaresAt() int { return v.slicesFloats(v.Product.Up, nil) }

// slicesFloats are the sums of simdgroups that share rows.
func (v *partView) slicesFloats(up int, r *plan.NormApply) int {
	if v.Slices() < 2 {
		return 0
	}
	n := v.SliceFloats()
	if up >= 0 {
		n *= 2
	}
	if r != nil {
		n += v.Simdgroups() * v.Inputs()
	}
	return n
}

// StageFloats is how many inputs a norm stages at a time.
func (v *partView) StageFloats() int {
	_, cols := matrix(v.P)
	return min(cols, maxStage)
}

// normFloats are the staged inputs and one share of Σ in² per simdgroup.
func (v *partView) normFloats(n *plan.Norm) int {
	if n == nil {
		return 0
	}
	return v.StageFloats() + v.Simdgroups()
}

// combineFloats are the factors of the splits and the sums of all teams but one.
func combineFloats(c *plan.Combine, dim, threads int) int {
	return roundUp(c.Splits.Count, simdWidth) + (teams(dim, threads)-1)*dim
}

// teams is how many teams of threads combine splits, each with a thread for every
// four columns, or for each if their number is no multiple of four.
func teams(dim, threads int) int {
	if dim%4 == 0 {
		dim /= 4
	}
	return max(threads/max(dim, 1), 1)
}

// FactorsAt is where the factors of the splits are, behind a combined input.
func (v *partView) FactorsAt() int {
	_, cols := matrix(v.P)
	return cols
}
