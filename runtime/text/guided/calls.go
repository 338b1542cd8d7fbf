package guided

import (
	"context"
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
	"mla/runtime/text/tokenizer"
)

// Tool is the declaration of a tool in OpenAI's format, as far as grammars of calls need it.
type Tool struct {
	Function struct {
		Name       string          `json:"name"`
		Strict     bool            `json:"strict"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Writing returns the grammars of a format of calls, for a vocabulary.
func Writing(f *output.Format, t *tokenizer.Tokenizer) output.Grammars {
	return output.Grammars{Format: f, IsToken: func(marker string) bool {
		id, ok := t.TokenID(marker)
		return ok && t.IsMarker(id)
	}}
}

// Calls is the grammar of tool calls, after their markers. Arguments follow their schemas: those of a strict
// tool exactly, others as far as keywords are supported. passed is called with keywords that have no effect;
// it may be nil.
func Calls(ctx context.Context, w output.Grammars, tools []Tool, passed func(*schema.UnsupportedError)) (*grammar.Grammar, error) {
	g := &grammar.Grammar{}
	root := g.Add("root", nil)
	var list []output.ToolGrammar
	for _, t := range tools {
		args, err := arguments(ctx, g, w, t, passed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Function.Name, err)
		}
		list = append(list, output.ToolGrammar{Name: t.Function.Name, Arguments: args})
	}
	g.Rules[root].Expr = w.Calls(list)
	return g, nil
}

// arguments is the grammar of a tool's arguments. A tool that is not strict allows any arguments if its
// schema is invalid.
func arguments(ctx context.Context, g *grammar.Grammar, w output.Grammars, t Tool, passed func(*schema.UnsupportedError)) (grammar.Expr, error) {
	of := func(text []byte) (grammar.Expr, error) {
		o := schema.Options{Lenient: !t.Function.Strict, Passed: passed}
		if w.Pairs {
			return schema.AddPairs(ctx, g, text, o, schema.Pairs{Pair: w.Pair, Bare: w.Bare()})
		}
		return schema.Add(ctx, g, text, o)
	}
	if p := string(t.Function.Parameters); p == "" || p == "null" {
		return of([]byte(`{"type": "object", "properties": {}, "additionalProperties": false}`))
	}
	e, err := of(t.Function.Parameters)
	if err != nil && !t.Function.Strict {
		return of([]byte(`{"type": "object"}`))
	}
	return e, err
}

// OrCalls extends a grammar so that a text may be calls instead, up to their markers.
func OrCalls(g *grammar.Grammar, w output.Grammars) {
	content := g.Add("content", g.Rules[0].Expr)
	g.Rules[0].Expr = grammar.Alt{content, w.Begins()}
}

// AfterCalls is the grammar after a call in an answer with a format: further calls, but no text.
func AfterCalls(w output.Grammars) *grammar.Grammar {
	return &grammar.Grammar{Rules: []grammar.Rule{{Name: "root", Expr: w.After()}}}
}
