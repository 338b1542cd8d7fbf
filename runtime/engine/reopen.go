package engine

import (
	"errors"
	"fmt"

	"mla/runtime/device"
)

// reopens says whether a device that has failed may run the model after it was opened anew. This is tried
// once.
func (m *Model) reopens(err error) bool {
	return errors.Is(err, device.ErrReopen) && !m.reopened && m.engine != nil
}

// reopen opens a failed device anew, and runs the tokens of all sessions again.
func (m *Model) reopen(why error) error {
	m.reopened = true
	if err := m.reload(); err != nil {
		return m.fail(fmt.Errorf("%w; opened anew, the device fails too: %w", why, err))
	}
	return nil
}
