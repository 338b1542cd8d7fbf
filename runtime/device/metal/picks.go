package metal

import (
	"fmt"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// Pick implements device.Picker. The commands that pick are executed behind those of the
// rows, in the same command buffer; nothing else in flight uses their memory.
func (r *runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if r.picks == (run{}) {
		return nil, fmt.Errorf("%w: there are no kernels that pick behind several rows", device.ErrSampling)
	}
	if err := device.CheckPicks(picks, len(rows)); err != nil {
		return nil, err
	}
	wanted := device.PickedRows(picks)
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	memory := r.memory.picks.Bytes()
	device.WritePicks(memory, picks, r.vocab)
	if err := mtl.Pool(func() error { return r.replay(rows, wanted, r.picks) }); err != nil {
		return nil, err
	}
	r.computed(rows, wanted)
	r.picked = len(picks)
	tokens := unsafe.Pointer(&memory[plan.PickLayoutOf(r.vocab, 1).Tokens])
	return device.Picked(picks, unsafe.Slice((*uint32)(tokens), len(picks)), r.vocab)
}

// PickedLogits implements device.Picker.
func (r *runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= r.picked || r.closed {
		return nil, fmt.Errorf("the logits of pick %d of %d", i, r.picked)
	}
	return floats(r.memory.logits)[i*r.vocab:][:r.vocab], nil
}
