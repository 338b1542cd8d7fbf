package metal

import "mla/runtime/plan"

// StateBytes implements device.Stateful.
func (r *runner) StateBytes() int { return r.stateBytes }

// ReadState implements device.Stateful.
func (r *runner) ReadState(table int, dst []byte) error {
	return r.state(table, dst, func(at []byte) { copy(dst, at) })
}

// WriteState implements device.Stateful.
func (r *runner) WriteState(table int, src []byte) error {
	return r.state(table, src, func(at []byte) { copy(at, src) })
}

// state calls move with the state of a block table's session, once no command in flight uses it.
func (r *runner) state(table int, host []byte, move func(at []byte)) error {
	if r.closed {
		return errClosed
	}
	from, to, err := r.tables.State(table, len(host), r.stateBytes)
	if err != nil {
		return err
	}
	return r.idle(func() { move(r.memory.Spaces[plan.SpaceState].Bytes()[from:to]) })
}
