package grammar

import (
	"context"
	"fmt"
)

// maxSteps is the work of one compilation: nodes, empty edges, ranges of characters, members
// of sets, edges and calls. It takes about 50 ms of one core.
const maxSteps = 1 << 21

// lookAfter is after how many steps a compilation looks whether its client has left.
const lookAfter = 1 << 14

// work counts the steps of a compilation. It ends it with a panic, which determine catches.
type work struct {
	ctx  context.Context
	left int
	look int    // what is left when the context is looked at next
	rule string // that is being compiled
}

func newWork(ctx context.Context) *work {
	return &work{ctx: ctx, left: maxSteps, look: maxSteps}
}

// stopped is why a compilation ended.
type stopped struct{ err error }

func (w *work) spend(n int) {
	w.left -= n
	if w.left < 0 {
		w.tooLarge("its repetitions, alternatives and classes take more than %d steps", maxSteps)
	}
	if w.left < w.look {
		w.look = w.left - lookAfter
		if w.ctx.Err() != nil {
			panic(stopped{context.Cause(w.ctx)})
		}
	}
}

// tooLarge ends the compilation.
func (w *work) tooLarge(format string, args ...any) {
	e := fail(format, args...)
	panic(stopped{&Error{fmt.Sprintf("%v at the rule %s: %s", ErrTooLarge, w.rule, e.Message), true}})
}

// catch makes an error of what ended a compilation.
func catch(err *error) {
	if e := recover(); e != nil {
		s, ok := e.(stopped)
		if !ok {
			panic(e)
		}
		*err = s.err
	}
}
