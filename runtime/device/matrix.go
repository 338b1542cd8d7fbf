package device

import (
	"encoding/binary"
	"fmt"

	"mla/runtime/plan"
)

// Constants are a kernel's: of each slot of its Args how many rows are between the heads or experts of the
// weight there, as kernels know how long a row is where it lies; then the number of splits, see PutSplits.
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

// PutSplits writes the number of splits of a kernel, where that follows the cores of a GPU, into its constants.
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

// Flops counts the operations of a command's products for a given number of rows, of which the last attends
// to cached cache rows and each before it to one less: two for each weight that a row is
// multiplied by, and in attention two for each column of a query and of what it sums up.
func Flops(c *Command, rows, cached int) int64 {
	w := flopsOf(c)
	flops, _ := w.Of(Load{
		Rows:   int64(min(rows, max(c.Kernel.Width, 1))), // of a prompt the head takes the rows that are asked for
		Pairs:  int64(rows)*int64(cached) - int64(rows)*int64(rows-1)/2,
		Cached: int64(plan.Pages(cached)) * plan.PageRows,
	})
	return flops
}
