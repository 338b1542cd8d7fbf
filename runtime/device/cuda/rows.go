package cuda

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// rowLayout is the layout of a matrix on the device: rows of cols elements, whose fields are separated during
// the upload, as the PTX expects them (see quant.SplitRows, and SPLIT_ROWS in the templates). The zero value
// is the layout of the file.
type rowLayout struct {
	format *quant.Format
	cols   int
}

// splitRows returns the layouts of the split weights of a kernel's variant, by slot.
func splitRows(k *plan.Kernel, v *plan.Variant) (map[int]rowLayout, error) {
	types := map[int]quant.Type{}
	for i, slot := range k.TypedSlots() {
		types[slot] = v.Types[i]
	}
	list := map[int]rowLayout{}
	for _, p := range k.Parts {
		for _, w := range plan.WeightsOf(p) {
			format, ok := quant.Lookup(types[w.Slot])
			if !ok || !format.Splits(w.Cols) {
				continue
			}
			r := rowLayout{format, w.Cols}
			if have, ok := list[w.Slot]; ok && have != r {
				return nil, fmt.Errorf("kernel %s, slot %s: read by rows of %d and of %d elements", k.Name, k.Slots[w.Slot].Name, have.cols, r.cols)
			}
			list[w.Slot] = r
		}
	}
	return list, nil
}

// bytes is the length of a row in the file, and onDevice on the device; both are 1 in the layout of the file.
func (r rowLayout) bytes() int {
	if r.format == nil {
		return 1
	}
	return r.cols / r.format.BlockElems * r.format.BlockBytes
}

func (r rowLayout) onDevice() int {
	if r.format == nil {
		return 1
	}
	return r.format.SplitRowBytes(r.cols)
}

// placed is the length on the device of n bytes of whole rows of the file.
func (r rowLayout) placed(n int64) int64 { return n / int64(r.bytes()) * int64(r.onDevice()) }

// copy copies whole rows from src to dst in the device's layout.
func (r rowLayout) copy(dst, src []byte) {
	if r.format == nil {
		copy(dst, src)
		return
	}
	r.format.SplitRows(dst, src, r.cols)
}
