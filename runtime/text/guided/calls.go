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

// Tool is what a grammar of calls has to know of a tool, as OpenAI's API declares it.
type Tool struct {
	Function struct {
		Name       string          `json:"name"`
		Strict     bool            `json:"strict"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Writing makes expressions of a format of calls, for a vocabulary.
func Writing(f *output.Format, t *tokenizer.Tokenizer) output.Grammars {
	return output.Grammars{Format: f, IsToken: func(marker string) bool {
		id, ok := t.TokenID(marker)
		return ok && t.IsMarker(id)
	}}
}

// Calls is the grammar of calls of tools, from their markers on. The arguments follow the schemas: of a
// strict tool exactly, of another as far as keywords are supported; passed is told of a keyword that
// has no effect, and may be nil.
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

// arguments is the grammar of a tool's arguments. One that is not strict takes any if its
// schema cannot be read.
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

// OrCalls adds to a grammar that a text may be calls instead, as far as their markers.
func OrCalls(g *grammar.Grammar, w output.Grammars) {
	content := g.Add("content", g.Rules[0].Expr)
	g.Rules[0].Expr = grammar.Alt{content, w.Begins()}
}

// AfterCalls is the grammar of what follows a call in an answer that has a form: other calls,
// but no text.
func AfterCalls(w output.Grammars) *grammar.Grammar {
	return &grammar.Grammar{Rules: []grammar.Rule{{Name: "root", Expr: w.After()}}}
}
