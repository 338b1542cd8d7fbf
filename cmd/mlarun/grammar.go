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

// form holds the flags that select the grammar of the text.
type form struct{ grammar, schema string }

func newForm(f *flags) *form {
	o := &form{}
	f.StringVar(&o.grammar, "grammar", "", "`grammar` in GBNF that the text follows, or a file with one; an answer follows it after the model's thoughts")
	f.StringVar(&o.schema, "json-schema", "", "JSON `Schema`, or a file with one; the text is JSON that is valid by it")
	return o
}

func (o *form) given() bool { return o.grammar != "" || o.schema != "" }

// maxRules is the greatest size of a file with a grammar or a schema, in bytes.
const maxRules = 4 << 20

// inline says whether the value of a flag is a grammar or a schema itself: names of files do not begin with a
// brace and do not contain "::=".
func inline(value string) bool {
	return strings.HasPrefix(strings.TrimSpace(value), "{") || strings.Contains(value, "::=")
}

// text returns the grammar or the schema, and its name for errors.
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

// rules parses the grammar or the schema.
func (o *form) rules() (*grammar.Grammar, error) {
	text, name, err := o.text()
	if err != nil {
		return nil, err
	}
	var g *grammar.Grammar
	if o.grammar != "" {
		if g, err = grammar.ParseGBNF(string(text)); err != nil {
			return nil, fmt.Errorf("%s:%w", name, err) // the error begins with line and column
		}
		return g, nil
	}
	if g, err = schema.Compile(context.Background(), text, schema.Options{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, nil
}

// of returns the rules for turns like t.
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

// noToken returns why a text could not continue.
func noToken(w *turn.Writer, err error) error {
	var none *engine.NoTokenError
	if errors.As(err, &none) {
		return w.Answer.Explain(err)
	}
	return err
}
