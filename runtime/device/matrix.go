package device

import (
	"encoding/binary"
	"fmt"

	"mla/runtime/plan"
)

// Constants encodes a kernel's constants. First comes, for each slot of Args, the distance between the heads
// or experts of its weight, in rows: kernels know the length of a row. Then comes the number of splits, if
// the kernel reads it; see PutSplits.
func Constants(k *plan.Kernel, weight func(slot int) (*Weight, error)) (data []byte, err error) {
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
	if s := k.PerCore(); s != nil {
		data = binary.LittleEndian.AppendUint64(data, uint64(s.Count))
	}
	return data, nil
}

// PutSplits writes the number of splits into a kernel's constants, if the number depends on the cores of a
// GPU.
func PutSplits(constants []byte, k *plan.Kernel) {
	if s := k.PerCore(); s != nil {
		binary.LittleEndian.PutUint64(constants[8*len(k.Args):], uint64(s.Count))
	}
}

func strideRows(k *plan.Kernel, slot int, w *Weight) (uint64, error) {
	for _, p := range k.Parts {
		for _, m := range plan.WeightsOf(p) {
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

// Flops counts the floating-point operations of a command's products for a number of rows. The last row
// attends to cached cache rows, and each row before it to one less. A weight counts as two operations for
// each row that is multiplied by it. In attention, each column of a key and of a value counts as two for each
// pair of a query and a cache row.
func Flops(c *Command, rows, cached int) int64 {
	w := flopsOf(c)
	flops, _ := w.Of(Load{
		Rows:   int64(min(rows, max(c.Kernel.Width, 1))), // of a prompt, the head runs for the wanted rows only
		Pairs:  int64(rows)*int64(cached) - int64(rows)*int64(rows-1)/2,
		Cached: int64(plan.Pages(cached)) * plan.PageRows,
	})
	return flops
}
