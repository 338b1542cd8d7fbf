package fake

import (
	"encoding/binary"

	"mla/runtime/plan"
)

// stateBytes is the size of a state.
const stateBytes = 8

// fold folds the tokens of rows into the states of their sessions. Without Folds all states stay 0.
func (r *Runner) fold(rows []plan.Row) {
	r.folded = r.folded[:0]
	for _, at := range rows {
		s := &r.states[at.Table]
		if at.Pos == 0 {
			*s = 0
		}
		if r.Folds {
			*s = mix(*s, at.Token)
		}
		r.folded = append(r.folded, *s)
	}
}

// Folded returns the state into which the tokens have been folded.
func Folded(tokens []int32) (state uint64) {
	for _, t := range tokens {
		state = mix(state, uint32(t))
	}
	return state
}

// StateBytes implements device.Stateful.
func (r *Runner) StateBytes() int {
	if r.Folds {
		return stateBytes
	}
	return 0
}

// ReadState implements device.Stateful.
func (r *Runner) ReadState(table int, dst []byte) error {
	_, _, err := r.tables.State(table, len(dst), stateBytes)
	if err == nil {
		binary.LittleEndian.PutUint64(dst, r.states[table])
	}
	return err
}

// WriteState implements device.Stateful.
func (r *Runner) WriteState(table int, src []byte) error {
	_, _, err := r.tables.State(table, len(src), stateBytes)
	if err == nil {
		r.states[table] = binary.LittleEndian.Uint64(src)
	}
	return err
}
