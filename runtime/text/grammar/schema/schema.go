// Package schema makes grammars of JSON Schemas: what follows the grammar is valid by the
// schema.
//
//	JSON ─ Form of each place: values by their type, as constraints ─ rules of a grammar
//
// What keywords say together is worked out before a rule is made: a Form holds, for each
// type of values, what is left of it. Forms can be joined, met and turned round, so allOf,
// anyOf, oneOf, not and if are operations on them. Texts are languages of package pattern.
// The schemas of properties and items are conditions, which are worked out when a rule of
// them is wanted; so recursion has an end.
//
// The other way round there are limits, as in other engines. Properties come in the order
// of the schema, and then further ones, if the schema speaks of them or declares none;
// white space is a blank or a line break with its indent; numbers have at most 16 digits
// in front of the point. A schema without type means the types that its keywords are about.
//
// What cannot be held is an *UnsupportedError, or without effect if the caller is lenient.
package schema

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/pattern"
)

// UnsupportedError names a keyword that no grammar can be made of.
type UnsupportedError struct {
	Path    string // of the schema that has it, as a JSON pointer
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

// Options say how strict a schema is taken.
type Options struct {
	// Lenient leaves keywords without effect that are not supported. Where a schema is too
	// large for a grammar, it leaves the values far within without form.
	Lenient bool
	// Passed is told what a lenient compilation leaves without effect; it may be nil.
	Passed func(*UnsupportedError)
}

// maxSteps is the work for one schema, in steps of package pattern: about 50 ms.
const maxSteps = 1 << 20

// detail is how much of a schema a grammar holds. A lenient compilation tries one after the
// other.
type detail struct {
	texts bool // patterns, lengths and limits of numbers
	depth int  // levels of values; what is deeper is any
}

var details = []detail{{true, deep}, {false, deep}, {false, 4}, {false, 2}}

// deep is without a limit on levels.
const deep = 1 << 20

// Compile makes a grammar of a schema, which is JSON text. Its work is limited, and ends
// with the context.
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

// tried makes a grammar with as much detail as there is room for; whole is what is left of
// a schema that is too large for any.
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

// anything is the grammar of any JSON value, or of any object if a schema's text says that.
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

// errTooLarge says that the rules of a schema are too many.
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

// compiler makes rules of schemas.
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
	level  int // of values, at which the rule is that is being made
	nested int // checks whether conditions are empty
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

// unsupported is nil if the caller is lenient.
func (c *compiler) unsupported(path, keyword, format string, args ...any) error {
	e := &UnsupportedError{path, keyword, fmt.Sprintf(format, args...)}
	if !c.Lenient {
		return e
	}
	c.pass(e)
	return nil
}

// pass notes what has no effect, once for each place.
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

// maxRules is how many rules a schema may take.
const maxRules = 1 << 13

// rule is the grammar of the values that meet a condition, as a rule of its own.
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

// condition is the grammar of the values that meet a condition.
func (c *compiler) condition(p *condition) (grammar.Expr, error) {
	f, err := c.form(p, false)
	if err != nil {
		return nil, err
	}
	c.level++
	defer func() { c.level-- }()
	return c.values(f, p.path(), nil)
}
