package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/guided"
)

// writing returns the grammars of the model's format of calls.
func (s *Server) writing() output.Grammars { return guided.Writing(s.format, s.tok) }

// textRules is the rules of a text without calls.
func (s *Server) textRules(ctx context.Context, w *wanted) (r guided.Rules, err error) {
	if r.Text, err = s.grammars.get(ctx, w); r.Text != nil {
		r.Thoughts = s.grammars.thoughts()
	}
	return r, err
}

// rules is the rules of the answer to a conversation.
func (s *Server) rules(ctx context.Context, c *conversation) (guided.Rules, error) {
	text := c.grammar
	if s.format != nil && len(c.tools) > 0 && !c.choice.none && !c.choice.must {
		text = s.orCalls(text)
	}
	r, err := s.textRules(ctx, text)
	if err != nil {
		return r, err
	}
	if r.Calls, err = s.callGrammar(ctx, c); err != nil {
		return r, err
	}
	r.AfterCall, err = s.afterCalls(ctx, c)
	return r, err
}

// callGrammar is the grammar of a call after its marker; nil: none. There is one if a call is required, only
// some tools may be called, a tool is strict, or the answer has a format. Then arguments follow their
// schemas: strict tools exactly, others as far as keywords are supported.
func (s *Server) callGrammar(ctx context.Context, c *conversation) (*grammar.Compiled, error) {
	var tools []guided.Tool
	asked := c.choice.must || c.choice.only != nil || c.grammar != nil // without a grammar, an answer with a format could be a call of anything
	for i, text := range c.tools {
		var t guided.Tool
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

// callRules is the grammar of calls of tools.
func (s *Server) callRules(ctx context.Context, tools []guided.Tool) (*grammar.Grammar, error) {
	passed := &passedOver{}
	defer s.tell(passed, "tools")
	return guided.Calls(ctx, s.writing(), tools, passed.add)
}

// orCalls is a grammar of texts or of calls, up to the marker of a call.
func (s *Server) orCalls(w *wanted) *wanted {
	if w == nil {
		return nil
	}
	return &wanted{w.param, "or calls " + w.key, func(ctx context.Context) (*grammar.Grammar, error) {
		g, err := w.rules(ctx)
		if err != nil {
			return nil, err
		}
		guided.OrCalls(g, s.writing())
		return g, nil
	}}
}

// afterCalls is the grammar after a call in an answer with a format: further calls, but no text; nil:
// anything.
func (s *Server) afterCalls(ctx context.Context, c *conversation) (*grammar.Compiled, error) {
	if c.grammar == nil || c.choice.none || s.format == nil || len(c.tools) == 0 {
		return nil, nil
	}
	return s.grammars.get(ctx, &wanted{"tools", "after calls", func(context.Context) (*grammar.Grammar, error) {
		return guided.AfterCalls(s.writing()), nil
	}})
}
