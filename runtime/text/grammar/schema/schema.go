// Package schema makes grammars of JSON Schemas: texts that follow the grammar are valid against the schema.
//
//	JSON ─ a form for each place: values by type, as constraints ─ rules of a grammar
//
// The combined effect of all keywords is computed before any rule is made: a form has, for each type, the
// constraints on its values. Forms have unions, intersections and complements, so allOf, anyOf, oneOf, not
// and if are operations on forms. Texts are languages of package pattern. The schemas of properties and items
// are conditions, which are evaluated when their rules are needed; so recursive schemas terminate.
//
// Not every valid text follows the grammar; other engines have similar limits. Properties come in the order
// of the schema; further ones follow them if the schema mentions further ones or declares none. White space
// is a blank, or a line break with its indent. Numbers have at most 16 digits before the decimal point. A
// schema without "type" means the types that its keywords are about.
//
// An unsupported keyword is an *UnsupportedError, or has no effect if the caller is lenient.
package schema

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/pattern"
)

// UnsupportedError names a keyword that no grammar can express.
type UnsupportedError struct {
	Path    string // of the keyword's schema, as a JSON pointer
	Keyword string
	Why     string // may be empty
}

func (e *UnsupportedError) Error() string {
	text := fmt.Sprintf("%s: the keyword %q is not supported", e.Path, e.Keyword)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Options is how strictly a schema is followed.
type Options struct {
	// Lenient gives unsupported keywords no effect. If a schema is too large for a grammar, deeply nested
	// values may have any form.
	Lenient bool
	// Passed is called with everything that a lenient compilation leaves without effect; it may be nil.
	Passed func(*UnsupportedError)
}

// maxSteps is the limit on work for one schema, in steps of package pattern: about 50 ms.
const maxSteps = 1 << 20

// detail is how much of a schema a grammar follows. A lenient compilation tries less and less detail.
type detail struct {
	texts bool // patterns, lengths and limits of numbers
	depth int  // levels of values; deeper values are unrestricted
}

var details = []detail{{true, deep}, {false, deep}, {false, 4}, {false, 2}}

// deep is a depth without a limit in practice.
const deep = 1 << 20

// Compile makes a grammar of a schema, a JSON text. Its work is limited, and ends with the context.
func Compile(ctx context.Context, text []byte, o Options) (*grammar.Grammar, error) {
	return tried(ctx, o, anything(text), func(d detail) (*grammar.Grammar, error) {
		c, err := newCompiler(ctx, &grammar.Grammar{}, text, o, d)
		if err != nil {
			return nil, err
		}
		start := c.g.Add("root", nil)
		e, err := c.rule(c.root)
		c.g.Rules[start].Expr = e
		return c.g, err
	})
}

// tried makes a grammar with as much detail as possible; whole is the fallback for a schema that is too large
// for any.
func tried(ctx context.Context, o Options, whole func() *grammar.Grammar, with func(detail) (*grammar.Grammar, error)) (g *grammar.Grammar, err error) {
	for _, d := range details {
		if g, err = with(d); err == nil && o.Lenient {
			err = grammar.Check(ctx, g)
		}
		if !o.Lenient || ctx.Err() != nil || !tooLarge(err) {
			return g, err
		}
	}
	return whole(), nil
}

// anything is the grammar of any JSON value, or of any object if the schema says that it is one.
func anything(text []byte) func() *grammar.Grammar {
	return func() *grammar.Grammar {
		root, _ := decode(text)
		if s, ok := root.(*object); ok && (s.get("type") == "object" || s.has("properties")) {
			return Object()
		}
		c := &compiler{g: &grammar.Grammar{}, shared: map[string]grammar.Ref{}}
		start := c.g.Add("root", nil)
		c.g.Rules[start].Expr = c.value()
		return c.g
	}
}

// errTooLarge says that a schema needs too many rules.
var errTooLarge = errors.New("the schema is too large: it takes too many rules")

func tooLarge(err error) bool {
	return errors.Is(err, errTooLarge) || errors.Is(err, pattern.ErrTooLarge) || errors.Is(err, grammar.ErrTooLarge)
}

// Object is the grammar of any JSON object.
func Object() *grammar.Grammar {
	c := &compiler{g: &grammar.Grammar{}, shared: map[string]grammar.Ref{}}
	start := c.g.Add("root", nil)
	c.g.Rules[start].Expr = c.anyObject()
	return c.g
}

// compiler makes the rules of schemas.
type compiler struct {
	Options
	detail
	*pattern.Work
	ctx  context.Context
	g    *grammar.Grammar
	root *condition
	conditions
	resources
	forms  map[formKey]*form
	busy   map[formKey]bool
	rules  map[ruleKey]grammar.Ref
	shared map[string]grammar.Ref // by name
	digits map[digitState]grammar.Ref
	level  int // nesting of values at the current rule
	nested int // nested checks for empty conditions
	passed map[string]bool
}

type formKey struct {
	*condition
	exact bool
}

type ruleKey struct {
	*condition
	level int
}

func newCompiler(ctx context.Context, g *grammar.Grammar, text []byte, o Options, d detail) (*compiler, error) {
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	if err := isSchemaValue(root, "#"); err != nil {
		return nil, err
	}
	c := &compiler{Options: o, detail: d, Work: pattern.NewWork(ctx, maxSteps), ctx: ctx, g: g,
		forms: map[formKey]*form{}, busy: map[formKey]bool{}, rules: map[ruleKey]grammar.Ref{}, shared: map[string]grammar.Ref{}, digits: map[digitState]grammar.Ref{}, passed: map[string]bool{}}
	c.conditions.known = map[string]*condition{}
	if err := c.Spend(len(text)); err != nil {
		return nil, err
	}
	c.root = c.schema(c.load(root))
	return c, nil
}

// unsupported returns nil if the caller is lenient.
func (c *compiler) unsupported(path, keyword, format string, args ...any) error {
	e := &UnsupportedError{path, keyword, fmt.Sprintf(format, args...)}
	if !c.Lenient {
		return e
	}
	c.pass(e)
	return nil
}

// pass reports a keyword without effect, once for each place.
func (c *compiler) pass(e *UnsupportedError) {
	if key := e.Path + "\x00" + e.Keyword; c.Passed != nil && !c.passed[key] {
		c.passed[key] = true
		c.Passed(e)
	}
}

// share is a rule that is made once.
func (c *compiler) share(name string, make func() grammar.Expr) grammar.Expr {
	r, ok := c.shared[name]
	if !ok {
		r = c.g.Add(name, nil)
		c.shared[name] = r
		c.g.Rules[r].Expr = make()
	}
	return r
}

// maxRules is the most rules of a schema.
const maxRules = 1 << 13

// rule is the grammar of the values that satisfy a condition, as a rule of its own.
func (c *compiler) rule(p *condition) (grammar.Expr, error) {
	key := ruleKey{p, c.level}
	if c.depth == deep {
		key.level = 0
	}
	if p.kind == isAny || c.level > c.depth {
		return c.value(), nil
	}
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	if len(c.g.Rules) > maxRules {
		return nil, errTooLarge
	}
	r := c.g.Add(p.path(), nothing)
	c.rules[key] = r
	e, err := c.condition(p)
	if err != nil && c.ctx.Err() == nil && !tooLarge(err) {
		if err = c.unsupportedBy(err, p.path(), "type"); err == nil {
			e = c.value()
		}
	}
	if err == nil {
		c.g.Rules[r].Expr = e
	}
	return r, err
}

// condition is the grammar of the values that satisfy a condition.
func (c *compiler) condition(p *condition) (grammar.Expr, error) {
	f, err := c.form(p, false)
	if err != nil {
		return nil, err
	}
	c.level++
	defer func() { c.level-- }()
	return c.values(f, p.path(), nil)
}
