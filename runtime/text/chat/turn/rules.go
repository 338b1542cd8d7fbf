package turn

import (
	"context"
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/guided"
)

// Rules returns the rules of an answer whose text follows a grammar. If tools may be called, an answer is
// either such a text, or calls whose arguments follow their schemas.
func (t *Turn) Rules(ctx context.Context, text *grammar.Grammar) (r guided.Rules, err error) {
	if text == nil {
		return r, nil
	}
	vocabulary := guided.Vocabulary(t.tokenizer, t.Ends)
	compile := func(to **grammar.Compiled, g *grammar.Grammar) {
		if err == nil {
			*to, err = grammar.Compile(ctx, g, vocabulary)
		}
	}
	if t.format != nil {
		writing := guided.Writing(t.format, t.tokenizer)
		guided.OrCalls(text, writing)
		calls, err := t.calls(ctx, writing)
		if err != nil {
			return r, err
		}
		compile(&r.Calls, calls)
		compile(&r.AfterCall, guided.AfterCalls(writing))
	}
	compile(&r.Text, text)
	r.Thoughts = vocabulary.Unending()
	return r, err
}

// calls is the grammar of calls of the declared tools.
func (t *Turn) calls(ctx context.Context, writing output.Grammars) (*grammar.Grammar, error) {
	list := make([]guided.Tool, len(t.tools))
	for i, text := range t.tools {
		if err := json.Unmarshal(text, &list[i]); err != nil {
			return nil, fmt.Errorf("tool %d: %w", i+1, err)
		}
	}
	return guided.Calls(ctx, writing, list, nil)
}
