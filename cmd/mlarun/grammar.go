package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mla/runtime/engine"
	"mla/runtime/system/userfile"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
	"mla/runtime/text/guided"
)

// form holds the flags that say what grammar the text follows.
type form struct{ grammar, schema string }

func newForm(f *flags) *form {
	o := &form{}
	f.StringVar(&o.grammar, "grammar", "", "`grammar` in GBNF that the text follows, or a file with one; an answer follows it after the model's thoughts")
	f.StringVar(&o.schema, "json-schema", "", "JSON `Schema`, or a file with one; the text is JSON that is valid by it")
	return o
}

func (o *form) given() bool { return o.grammar != "" || o.schema != "" }

// maxRules is the size of the longest file with a grammar or a schema, in bytes.
const maxRules = 4 << 20

// inline tells whether the value of a flag is a grammar or a schema itself: no file's name
// begins with a brace, or has a rule's sign in it.
func inline(value string) bool {
	return strings.HasPrefix(strings.TrimSpace(value), "{") || strings.Contains(value, "::=")
}

// text is the grammar or the schema, and what errors call it.
func (o *form) text() (text []byte, name string, err error) {
	value, name := o.grammar, "-grammar"
	if value == "" {
		value, name = o.schema, "-json-schema"
	}
	if inline(value) {
		return []byte(value), name, nil
	}
	text, err = userfile.Read(value, maxRules)
	return text, value, err
}

// rules reads the grammar or the schema.
func (o *form) rules() (*grammar.Grammar, error) {
	text, name, err := o.text()
	if err != nil {
		return nil, err
	}
	var g *grammar.Grammar
	if o.grammar != "" {
		if g, err = grammar.ParseGBNF(string(text)); err != nil {
			return nil, fmt.Errorf("%s:%w", name, err) // which begins with line and column
		}
		return g, nil
	}
	if g, err = schema.Compile(context.Background(), text, schema.Options{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, nil
}

// of are the rules of turns like t.
func (o *form) of(t *turn.Turn) (guided.Rules, error) {
	if !o.given() {
		return guided.Rules{}, nil
	}
	g, err := o.rules()
	if err != nil {
		return guided.Rules{}, err
	}
	return t.Rules(context.Background(), g)
}

// noToken is why a text could not go on.
func noToken(w *turn.Writer, err error) error {
	var none *engine.NoTokenError
	if errors.As(err, &none) {
		return w.Answer.Explain(err)
	}
	return err
}
