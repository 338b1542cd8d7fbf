// Package jinja renders chat templates as Python's jinja2 does under the set-up of
// Hugging Face's transformers: trim_blocks, lstrip_blocks, loop controls, `generation`
// blocks, raise_exception, strftime_now, and a tojson without ASCII escapes.
//
// Values follow Python: integers of any size, texts by characters, lists that are shared and
// not copied, none that prints as None. What the package does not know is an error; it never
// stands for something else.
//
// A template may come from a stranger. Parsing and rendering are bounded in steps, memory and
// depth, and end with the context. Nothing is left running.
package jinja

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Template is a parsed template. It can be rendered by several goroutines at once.
type Template struct {
	body  []node
	reads map[string]bool
}

// Error is what is wrong with a template, or what it raised.
type Error struct {
	Line    int    // in the template, from 1; 0 = not known
	Message string // in words
	cause   error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Unwrap returns the error of the context, if that ended the rendering.
func (e *Error) Unwrap() error { return e.cause }

// MaxSource is the most bytes of a template.
const MaxSource = 1 << 16

// Parse reads a template.
func Parse(source string) (t *Template, err error) {
	if len(source) > MaxSource {
		return nil, &Error{Message: fmt.Sprintf("the template has %d bytes, at most %d are supported", len(source), MaxSource)}
	}
	defer recovered(&err, nil)
	p := &parser{tokens: lex(source)}
	body := p.template()
	return &Template{body: body, reads: undeclared(body)}, nil
}

// Reads reports whether the template reads a variable of that name that it has not set
// itself.
func (t *Template) Reads(name string) bool { return t.reads[name] }

// Variables lists, in order, the names that the template reads without having set them.
// Those that every template has, such as range, are left out.
func (t *Template) Variables() []string { return slices.Sorted(maps.Keys(t.reads)) }

// Render writes the template's text for the variables. Values are nil (none), bool, int,
// float64, string, and what NewDict, NewList and FromJSON make; the template may change the
// dicts and lists. now is what strftime_now tells.
func (t *Template) Render(ctx context.Context, vars map[string]Value, now time.Time) (text string, err error) {
	s := newState(ctx, vars, now)
	defer recovered(&err, s)
	root := &scope{}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		root.set(name, vars[name])
	}
	s.check()
	return s.capture(func() { s.run(t.body, root) }), nil
}

// recovered makes errors of failures. Any other panic is a fault of this package; it is an
// error too, as it must not end the program.
func recovered(err *error, s *state) {
	p := recover()
	if p == nil {
		return
	}
	e, ok := p.(*Error)
	if !ok {
		e = &Error{Message: fmt.Sprintf("%s: %v", engineFailed, p)}
	}
	if s != nil && e.Line == 0 {
		e.Line = s.line
	}
	*err = e
}

// engineFailed begins the message of an error that is this package's fault.
const engineFailed = "the template engine failed"

// fail ends the parsing or rendering in hand.
func fail(format string, args ...any) {
	panic(&Error{Message: fmt.Sprintf(format, args...)})
}

// failWith ends it with an error that has a cause.
func failWith(err error, what string) {
	panic(&Error{Message: fmt.Sprintf("%s: %v", what, err), cause: err})
}

func failAt(line int, format string, args ...any) {
	panic(&Error{Line: line, Message: fmt.Sprintf(format, args...)})
}
