package replay

import "mla/runtime/plan"

// StateBytes implements device.Stateful.
func (r *Runner) StateBytes() int {
	s := r.bundle.Model.State()
	return int(s.Bytes())
}

// ReadState implements device.Stateful.
func (r *Runner) ReadState(table int, dst []byte) error {
	return r.state(table, dst, func(at []byte) { copy(dst, at) })
}

// WriteState implements device.Stateful.
func (r *Runner) WriteState(table int, src []byte) error {
	return r.state(table, src, func(at []byte) { copy(at, src) })
}

// state calls move with the recurrent state of a block table's session.
func (r *Runner) state(table int, host []byte, move func(at []byte)) error {
	from, to, err := r.tables.State(table, len(host), r.StateBytes())
	if err == nil {
		move(r.bytesOf(plan.SpaceState)[from:to])
	}
	return err
}
