package mtl

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// CommandError says how a command buffer has failed.
type CommandError struct {
	Code int64 // of MTLCommandBufferError
	Text string
}

func (e *CommandError) Error() string {
	if e.Text == "" {
		return "the GPU's commands failed without a reason"
	}
	return fmt.Sprintf("the GPU's commands: %s (code %d)", e.Text, e.Code)
}

// Codes of MTLCommandBufferError for commands that took too long, and for later commands that the system then
// refuses.
const (
	errorTimeout       = 2
	errorAccessRevoked = 4
)

// interactivity is the code of commands that kept the GPU from drawing the screen. Apple's headers do not
// name it; the error's text contains it as "0000000e".
var interactivity = int64(0xe)

// TooLong says whether the system ended the commands because these, or earlier ones of this process, took
// longer than it allows (rule 27).
func (e *CommandError) TooLong() bool {
	return slices.Contains([]int64{errorTimeout, errorAccessRevoked, interactivity}, e.Code) || strings.Contains(e.Text, fmt.Sprintf("%08x", interactivity))
}

// StuckError says that commands have not ended. They may still use their memory.
type StuckError struct{ After time.Duration }

func (e *StuckError) Error() string {
	return fmt.Sprintf("the GPU's commands have not ended after %v; the GPU or its driver hangs. Ending the program helps, else starting the computer anew", e.After)
}

// Wait blocks until the commands are done. It returns a *CommandError if they have failed. After a tenth of
// limit it calls late once, unless late is nil. After limit it returns a *StuckError. Then neither the
// commands nor their memory may be released, as another thread still waits for them.
func (c Commands) Wait(limit time.Duration, late func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Pool(func() error { messages.wait.send(c.id); return nil })
	}()
	clock, first := time.NewTimer(limit), time.NewTimer(limit/10)
	defer clock.Stop()
	defer first.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-first.C:
			if late != nil {
				late()
			}
		case <-clock.C:
			return &StuckError{limit}
		}
	}
	if messages.status.send(c.id) == statusCompleted {
		return nil
	}
	e := &CommandError{}
	if id := messages.failure.send(c.id); id != 0 {
		e.Code, e.Text = messages.errorCode.send(id), text(messages.errorText.send(id))
	}
	return e
}
