package replay

import (
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// SetInput implements device.Vectored.
func (r *Runner) SetInput(vectors []float32) error {
	_, _, err := device.Vectors(r.bundle, vectors, r.width, device.InputOf)
	r.input = slices.Clone(vectors)
	return err
}

// Hidden implements device.Vectored.
func (r *Runner) Hidden(dst []float32) error {
	_, v, err := device.Vectors(r.bundle, dst, r.width, device.HiddenOf)
	if err == nil {
		device.TakeVectors(dst, r.bytesOf(plan.SpaceArena)[v.Offset:], v)
	}
	return err
}

// putInput writes the vectors of SetInput into the arena. SetInput cannot write them itself, because Replay
// fills the arena with NaN.
func (r *Runner) putInput() {
	if len(r.input) == 0 {
		return
	}
	if _, v, err := device.Vectors(r.bundle, r.input, r.width, device.InputOf); err == nil {
		device.PutVectors(r.bytesOf(plan.SpaceArena)[v.Offset:], v, r.bundle.Activations, r.input)
	}
	r.input = nil
}
