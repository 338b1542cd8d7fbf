package grammar

import (
	"context"
	"fmt"
)

// maxSteps is the limit on work of one compilation: nodes, empty edges, ranges of characters, members of
// sets, edges and calls. It takes about 50 ms of one core.
const maxSteps = 1 << 21

// lookAfter is the number of steps between two checks of the context.
const lookAfter = 1 << 14

// work counts the steps of a compilation. It ends the compilation with a panic, which determine recovers.
type work struct {
	ctx  context.Context
	left int
	look int    // steps left at the next check of the context
	rule string // the current rule
}

func newWork(ctx context.Context) *work {
	return &work{ctx: ctx, left: maxSteps, look: maxSteps}
}

// stopped is the reason for which a compilation ended.
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

// catch converts the panic that ended a compilation to an error.
func catch(err *error) {
	if e := recover(); e != nil {
		s, ok := e.(stopped)
		if !ok {
			panic(e)
		}
		*err = s.err
	}
}
