// Package jinja renders chat templates like Python's jinja2 with the settings of Hugging Face's transformers:
// trim_blocks, lstrip_blocks, loop controls, `generation` blocks, raise_exception, strftime_now, and a tojson
// without ASCII escapes.
//
// Values follow Python: integers of any size, texts indexed by characters, lists shared instead of copied,
// none printed as None. Anything that the package does not support is an error.
//
// A template may come from a stranger. Parsing and rendering are bounded in steps, memory and depth, and end
// with the context. Nothing keeps running afterwards.
package jinja

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	body  []node
	reads map[string]bool
}

// Error is an error of a template, or one that it raised.
type Error struct {
	Line    int    // in the template, from 1; 0: unknown
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

// Unwrap returns the error of the context if that ended the rendering.
func (e *Error) Unwrap() error { return e.cause }

// MaxSource is the longest template in bytes.
const MaxSource = 1 << 16

// Parse parses a template.
func Parse(source string) (t *Template, err error) {
	if len(source) > MaxSource {
		return nil, &Error{Message: fmt.Sprintf("the template has %d bytes, at most %d are supported", len(source), MaxSource)}
	}
	defer recovered(&err, nil)
	p := &parser{tokens: lex(source)}
	body := p.template()
	return &Template{body: body, reads: undeclared(body)}, nil
}

// Reads reports whether the template reads a variable that it has not set itself.
func (t *Template) Reads(name string) bool { return t.reads[name] }

// Variables lists, sorted, the names that the template reads without having set them. Names that every
// template has, such as range, are left out.
func (t *Template) Variables() []string { return slices.Sorted(maps.Keys(t.reads)) }

// Render renders the template with variables. Values are nil (none), bool, int, float64, string, and the
// results of NewDict, NewList and FromJSON; the template may change dicts and lists. now is the time for
// strftime_now.
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

// recovered converts failures to errors. Any other panic is a bug of this package; it becomes an error, too,
// so that it does not end the program.
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

// engineFailed is the beginning of an error that is this package's bug.
const engineFailed = "the template engine failed"

// fail ends the current parsing or rendering.
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
