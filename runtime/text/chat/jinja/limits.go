package jinja

import (
	"context"
	"strings"
	"time"
)

// Limits of one rendering. The limits on steps and memory grow with the input, so that long conversations are
// possible; the constants bound what a template creates from nothing.
const (
	baseSteps    = 4 << 20  // evaluated expressions, iterations, and the like
	stepsPerByte = 4        // of input
	baseMemory   = 64 << 20 // bytes of all values that a rendering creates
	memoryFactor = 16       // bytes for each byte of input
	maxDepth     = 2000     // nested evaluations: calls, expressions, values within values
	maxIntBits   = 1 << 14  // bits of an integer; Python prints 4300 digits, which is 14,285
	maxRange     = 100000   // numbers in one range(), as in jinja2's sandbox
	checkEvery   = 4096     // steps between two checks of the context
)

// state is the state of one rendering.
type state struct {
	ctx    context.Context
	now    time.Time
	out    *strings.Builder
	line   int // of the current statement
	steps  int // steps left
	memory int // bytes left
	next   int // number of steps left at the next check of the context
	depth  int
	// tail is the last concatenated text, with free capacity after it.
	tail []byte
	// asWritten is false once a value with a known JSON text has changed.
	asWritten bool
}

func newState(ctx context.Context, vars map[string]Value, now time.Time) *state {
	input := 0
	for name, v := range vars {
		input += len(name) + sizeOf(v, 0)
	}
	s := &state{ctx: ctx, now: now, asWritten: true}
	s.steps = baseSteps + stepsPerByte*input
	s.memory = baseMemory + memoryFactor*input
	s.next = s.steps
	return s
}

// overhead is roughly the memory of a value beside its contents, in bytes.
const overhead = 32

// sizeOf is roughly the memory of a caller's value.
func sizeOf(v Value, depth int) int {
	size := overhead
	if depth > maxDepth {
		return size // the rendering will refuse it
	}
	switch v := v.(type) {
	case string:
		size += len(v)
	case *List:
		for _, x := range v.items {
			size += sizeOf(x, depth+1)
		}
	case *Dict:
		for i, x := range v.values {
			size += sizeOf(v.keys[i], depth+1) + sizeOf(x, depth+1)
		}
	}
	return size
}

// spend counts steps.
func (s *state) spend(n int) {
	s.steps -= n
	if s.steps < 0 {
		fail("the template takes too many steps: the limit is %d, and %d for each byte of input", baseSteps, stepsPerByte)
	}
	if s.steps < s.next {
		s.check()
		s.next = s.steps - checkEvery
	}
}

// scan counts the steps of reading a text.
func (s *state) scan(bytes int) { s.spend(1 + bytes/16) }

// check fails if the context has ended.
func (s *state) check() {
	if err := s.ctx.Err(); err != nil {
		failWith(err, "the template was not done in time")
	}
}

// charge counts bytes that are about to be allocated.
func (s *state) charge(bytes int) {
	if bytes < 0 || bytes > s.memory {
		fail("the template takes too much memory: the limit is %d MiB, and %d times the input", baseMemory>>20, memoryFactor)
	}
	s.memory -= bytes
	s.scan(bytes)
}

// times is n times size, saturating.
func times(size, n int) int {
	const tooMuch = 1 << 60
	if n <= 0 || size <= 0 {
		return 0
	}
	if n > tooMuch/size {
		return tooMuch
	}
	return n * size
}

// enter counts a nesting level; leave must follow.
func (s *state) enter() {
	s.depth++
	if s.depth > maxDepth {
		fail("calls, expressions or values are nested more than %d deep; a value that contains itself is not supported", maxDepth)
	}
}

func (s *state) leave() { s.depth-- }

// write appends to the output.
func (s *state) write(text string) {
	s.charge(2 * len(text)) // the buffer grows by doubling
	s.out.WriteString(text)
}

// capture returns the output of a call.
func (s *state) capture(write func()) string {
	outer := s.out
	s.out = &strings.Builder{}
	write()
	text := s.out.String()
	s.out = outer
	return text
}
