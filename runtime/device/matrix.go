package device

import (
	"encoding/binary"
	"fmt"

	"mla/runtime/plan"
)

// Matrix is a weight that a part reads by whole rows.
type Matrix struct {
	Slot int // of the kernel
	Rows int // that a token needs: of experts those of the selected ones
	Cols int
}

// Matrices lists the matrices of a part.
func Matrices(p plan.Part) []Matrix {
	var list []Matrix
	add := func(slot, rows, cols int) {
		if slot >= 0 {
			list = append(list, Matrix{slot, rows, cols})
		}
	}
	switch p := p.(type) {
	case *plan.Embed:
		add(p.W, 1, p.Dim)
	case *plan.MatVec:
		add(p.W, p.Batch*p.Rows, p.Cols)
		add(p.Up, p.Batch*p.Rows, p.Cols)
	case *plan.Experts:
		add(p.W, p.K*p.Rows, p.Cols)
		add(p.Up, p.K*p.Rows, p.Cols)
	case *plan.ExpandHeads:
		if p.Keys {
			add(p.W, p.Heads*p.LatDim, p.Dim)
		} else {
			add(p.W, p.Heads*p.Dim, p.LatDim)
		}
	case *plan.ExpertsSum:
		add(p.W, p.K*p.Rows, p.Cols)
		add(p.Shared, p.Rows, p.SharedCols)
	}
	return list
}

// Strides are a kernel's constants: of each slot of its Args how many rows are between the heads or experts of the
// weight there. Kernels know how long a row is where it lies.
func Strides(k *plan.Kernel, weight func(slot int) (*Weight, error)) (data []byte, err error) {
	for _, slot := range k.Args {
		w, err := weight(slot)
		if err != nil {
			return nil, err
		}
		rows, err := strideRows(k, slot, w)
		if err != nil {
			return nil, err
		}
		data = binary.LittleEndian.AppendUint64(data, rows)
	}
	return data, nil
}

func strideRows(k *plan.Kernel, slot int, w *Weight) (uint64, error) {
	for _, p := range k.AllParts() {
		for _, m := range Matrices(p) {
			n := rowBytes(w.Type, m.Cols)
			if m.Slot != slot || n < 1 {
				continue
			}
			if w.BatchStride < 0 || w.BatchStride%n != 0 {
				return 0, fmt.Errorf("tensor %s: entries %d bytes apart; expected whole rows of %d bytes", w.Tensor, w.BatchStride, n)
			}
			return uint64(w.BatchStride / n), nil
		}
	}
	return 0, fmt.Errorf("tensor %s of type %s in slot %d of kernel %s, which has no matrix there", w.Tensor, w.Type, slot, k.Name)
}

// Flops counts the operations of a command's products for so many rows, of which the last attends
// to cached cache rows and each before it to one less: two for each weight that a row is
// multiplied by, and in attention of many rows two for each column of a query and of what it sums up.
func Flops(c *Command, rows, cached int) (n int64) {
	pairs := int64(rows)*int64(cached) - int64(rows)*int64(rows-1)/2 // of queries and cache rows
	for _, p := range c.Kernel.AllParts() {
		times := int64(min(rows, max(c.Kernel.Width, 1))) // of a prompt the head takes the rows that are asked for
		switch p := p.(type) {
		case *plan.Embed:
			continue
		case *plan.ExpandHeads: // whole pages
			times = int64(plan.Pages(cached)) * plan.PageRows
		case *plan.AttendHeads:
			n += 2 * pairs * int64(p.Heads) * int64(p.NopeDim+p.PeDim+p.VDim)
		case *plan.AttendRows:
			n += 2 * pairs * int64(p.Heads) * int64(2*p.LatDim+p.PeDim)
		}
		for _, m := range Matrices(p) {
			n += 2 * int64(m.Rows) * int64(m.Cols) * times
		}
	}
	return n
}
