package device

import "fmt"

// Stateful is a Runner whose sessions may have a state beside their pages: that of linear attention. A state
// sums up all tokens so far, and no token can be removed from it. To return to an earlier position, a caller
// needs a copy of the state there.
type Stateful interface {
	Runner
	// StateBytes is the size in bytes of a session's state; 0: the model has none.
	StateBytes() int
	// ReadState copies the state of a block table's session to dst, which has StateBytes bytes, after all
	// rows that were run before.
	ReadState(table int, dst []byte) error
	// WriteState copies src, which has StateBytes bytes, to the state of a block table's session, before rows
	// that are run later. The caller may reuse src at once.
	WriteState(table int, src []byte) error
}

// StatesOf is a runner as a Stateful; nil: its model has no states.
func StatesOf(r Runner) Stateful {
	if s, ok := r.(Stateful); ok && s.StateBytes() > 0 {
		return s
	}
	return nil
}

// State returns the byte range of a table's state among the states of all tables. It fails if the table is
// out of range, or if host, the length of the caller's slice, is not stateBytes.
func (t *Tables) State(table, host, stateBytes int) (from, to int, err error) {
	if table < 0 || table >= t.Count() || host != stateBytes || stateBytes == 0 {
		return 0, 0, fmt.Errorf("%d bytes for the state of block table %d of %d, each of %d bytes", host, table, t.Count(), stateBytes)
	}
	return table * stateBytes, (table + 1) * stateBytes, nil
}
