package cpu

import "mla/runtime/plan"

// StateBytes implements device.Stateful.
func (r *runner) StateBytes() int { return r.stateBytes }

// ReadState implements device.Stateful.
func (r *runner) ReadState(table int, dst []byte) error {
	at, err := r.state(table, dst)
	if err == nil {
		copy(dst, at)
	}
	return err
}

// WriteState implements device.Stateful.
func (r *runner) WriteState(table int, src []byte) error {
	at, err := r.state(table, src)
	if err == nil {
		copy(at, src)
	}
	return err
}

// state returns the state of a block table's session.
func (r *runner) state(table int, host []byte) ([]byte, error) {
	if r.pool == nil {
		return nil, errClosed
	}
	from, to, err := r.tables.State(table, len(host), r.stateBytes)
	if err != nil {
		return nil, err
	}
	return r.Spaces[plan.SpaceState][from:to], nil
}
