package device

import "fmt"

// Stateful is a Runner whose sessions may have a state beside their pages: that of linear attention, which has folded all
// tokens before the next one. Nothing can be taken out of it again, so who wants to go back keeps a copy.
type Stateful interface {
	Runner
	// StateBytes is the size of a session's state; 0: the model has none.
	StateBytes() int
	// ReadState copies the state of a block table's session to dst, which has StateBytes: what the rows that were run
	// before have left there.
	ReadState(table int, dst []byte) error
	// WriteState copies src, which has StateBytes and may be used again afterwards, to the state of a block table's
	// session, before rows that are run later.
	WriteState(table int, src []byte) error
}

// StatesOf is a runner as a Stateful; nil: its model has no states.
func StatesOf(r Runner) Stateful {
	if s, ok := r.(Stateful); ok && s.StateBytes() > 0 {
		return s
	}
	return nil
}

// State is where the state of a block table's session is in the memory of all, each of stateBytes. It fails for a table
// that there is not, and for another number of the host's bytes.
func (t *Tables) State(table, host, stateBytes int) (from, to int, err error) {
	if table < 0 || table >= t.Count() || host != stateBytes || stateBytes == 0 {
		return 0, 0, fmt.Errorf("%d bytes for the state of block table %d of %d, each of %d bytes", host, table, t.Count(), stateBytes)
	}
	return table * stateBytes, (table + 1) * stateBytes, nil
}
