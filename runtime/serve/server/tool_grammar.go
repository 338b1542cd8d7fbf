package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
	"mla/runtime/text/tokenizer"
)

// callable is what a grammar of calls wants to know of a tool.
type callable struct {
	Function struct {
		Name       string `json:"name"`
		Strict     bool   `json:"strict"`
		Parameters raw    `json:"parameters"`
	} `json:"function"`
}

// writing makes expressions of the model's format of calls.
func (s *Server) writing() output.Grammars {
	return output.Grammars{Format: s.format, IsToken: func(marker string) bool {
		id, ok := s.tok.TokenID(marker)
		return ok && s.tok.IsMarker(id)
	}}
}

// callGrammar is what a call has to follow behind its marker; nil: nothing in particular.
// It is there if a call is asked for, only some tools may be called, one is strict, or the answer has a form, and then
// arguments follow their schemas: those of strict tools exactly, those of others as far as keywords are supported.
func (s *Server) callGrammar(ctx context.Context, c *conversation) (*grammar.Compiled, error) {
	var tools []callable
	asked := c.choice.must || c.choice.only != nil || c.grammar != nil // or an answer in a form could be a call of anything
	for i, text := range c.tools {
		var t callable
		if err := json.Unmarshal(text, &t); err != nil {
			return nil, bad(fmt.Sprintf("tools[%d].function", i), "expected a name, and parameters that are a JSON Schema")
		}
		if c.choice.allows(t.Function.Name) {
			tools = append(tools, t)
			asked = asked || t.Function.Strict
		}
	}
	if !asked || len(tools) == 0 || c.choice.none || s.format == nil {
		return nil, nil
	}
	key := "calls" + string(bytes.Join(rawBytes(c.callable()), []byte("\n")))
	return s.grammars.get(ctx, &wanted{"tools", key, func(ctx context.Context) (*grammar.Grammar, error) { return s.callRules(ctx, tools) }})
}

func rawBytes(list []raw) (out [][]byte) {
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// callRules are the rules of calls of tools.
func (s *Server) callRules(ctx context.Context, tools []callable) (*grammar.Grammar, error) {
	g := &grammar.Grammar{}
	root := g.Add("root", nil)
	w := s.writing()
	passed := &passedOver{}
	defer s.tell(passed, "tools")
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
func arguments(ctx context.Context, g *grammar.Grammar, w output.Grammars, t callable, passed *passedOver) (grammar.Expr, error) {
	of := func(text []byte) (grammar.Expr, error) {
		o := passed.options(t.Function.Strict)
		if w.Pairs {
			return schema.AddPairs(ctx, g, text, o, schema.Pairs{Pair: w.Pair, Bare: w.Bare()})
		}
		return schema.Add(ctx, g, text, o)
	}
	if isNull(t.Function.Parameters) {
		return of([]byte(`{"type": "object", "properties": {}, "additionalProperties": false}`))
	}
	e, err := of(t.Function.Parameters)
	if err != nil && !t.Function.Strict {
		return of([]byte(`{"type": "object"}`))
	}
	return e, err
}

// orCalls is a grammar of texts that may be calls instead, as far as their markers.
func (s *Server) orCalls(w *wanted) *wanted {
	if w == nil {
		return nil
	}
	return &wanted{w.param, "or calls " + w.key, func(ctx context.Context) (*grammar.Grammar, error) {
		g, err := w.rules(ctx)
		if err != nil {
			return nil, err
		}
		content := g.Add("content", g.Rules[0].Expr)
		g.Rules[0].Expr = grammar.Alt{content, s.writing().Begins()}
		return g, nil
	}}
}

// behindCalls is the grammar of what follows a call in an answer that has a form: other
// calls, but no text; nil: anything.
func (s *Server) behindCalls(ctx context.Context, c *conversation) (*grammar.Compiled, error) {
	if c.grammar == nil || c.choice.none || s.format == nil || len(c.tools) == 0 {
		return nil, nil
	}
	return s.grammars.get(ctx, &wanted{"tools", "behind calls", func(context.Context) (*grammar.Grammar, error) {
		return &grammar.Grammar{Rules: []grammar.Rule{{Name: "root", Expr: s.writing().Behind()}}}, nil
	}})
}

// call begins the grammar of a call if the model is at one, and ends it behind.
func (c *choice) call() {
	if c.parser == nil {
		return
	}
	text, calling := c.parser.Calling()
	switch {
	case calling == c.calling:
		return
	case !calling && c.parser.Thinking(): // the answer is still to come
		c.matcher = c.answer
	case !calling && c.behind != nil:
		c.matcher = c.behind.NewMatcher()
	case !calling:
		c.matcher = nil
	case c.tools == nil:
		c.answer, c.matcher = c.matcher, nil // the call's text is free
	default:
		c.answer = c.matcher
		c.matcher = c.tools.NewMatcher()
		for _, id := range c.tok.Encode(text, tokenizer.EncodeOptions{ParseSpecial: true}) {
			if c.matcher.Accept(id) != nil { // no call that the format knows; it will be text
				c.matcher = nil
				break
			}
		}
	}
	c.calling = calling
}
