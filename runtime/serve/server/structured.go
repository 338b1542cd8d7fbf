package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
	"mla/runtime/text/guided"
)

// responseFormat is the required form of an answer, in OpenAI's APIs and Anthropic's.
type responseFormat struct {
	Type       string `json:"type"`
	Schema     raw    `json:"schema"`
	Strict     *bool  `json:"strict"` // of the responses API
	JSONSchema *struct {
		Schema raw   `json:"schema"`
		Strict *bool `json:"strict"`
	} `json:"json_schema"` // of the chat API
}

// structured is the fields of a request, beside the format, that set a grammar for the answer.
type structured struct {
	Grammar    string `json:"grammar"`     // in GBNF
	JSONSchema raw    `json:"json_schema"` // llama-server's
}

// grammarOf is the grammar that the fields of a request ask for; nil: none.
func (s *Server) grammarOf(q structured, f *responseFormat, param string) (*wanted, error) {
	formatted := f != nil && f.Type != "" && f.Type != "text"
	if q.Grammar != "" && (!isNull(q.JSONSchema) || formatted) || !isNull(q.JSONSchema) && formatted {
		return nil, bad("grammar", "only one of grammar, json_schema and %s can be given", param)
	}
	switch {
	case q.Grammar != "":
		return &wanted{"grammar", "gbnf" + q.Grammar, func(context.Context) (*grammar.Grammar, error) { return grammar.ParseGBNF(q.Grammar) }}, nil
	case !isNull(q.JSONSchema):
		return s.schemaOf("json_schema", q.JSONSchema, false), nil
	case !formatted:
		return nil, nil
	}
	return s.formatOf(f, param)
}

// wanted is a grammar that a request asks for.
type wanted struct {
	param string
	key   string // equal for equal grammars
	rules func(context.Context) (*grammar.Grammar, error)
}

// formatOf is the grammar of a format.
func (s *Server) formatOf(f *responseFormat, param string) (*wanted, error) {
	text, strict := f.Schema, f.Strict
	if f.JSONSchema != nil {
		text, strict = f.JSONSchema.Schema, f.JSONSchema.Strict
		param += ".json_schema"
	}
	switch {
	case f.Type == "json_object" && isNull(text):
		return &wanted{param, "object", func(context.Context) (*grammar.Grammar, error) { return schema.Object(), nil }}, nil
	case f.Type == "json_object":
		return s.schemaOf(param+".schema", text, false), nil
	case f.Type != "json_schema":
		return nil, bad(param, "the type %q is not supported; expected text, json_object or json_schema", clip(f.Type, 50))
	case isNull(text):
		return nil, bad(param, "there is no schema")
	}
	return s.schemaOf(param+".schema", text, strict != nil && *strict), nil
}

// schemaOf is the grammar of a schema. If it is not strict, it may have unsupported keywords, which have no
// effect.
func (s *Server) schemaOf(param string, text raw, strict bool) *wanted {
	kind := "lenient"
	if strict {
		kind = "strict"
	}
	return &wanted{param, kind + string(text), func(ctx context.Context) (*grammar.Grammar, error) {
		passed := &passedOver{}
		defer s.tell(passed, param)
		return schema.Compile(ctx, text, schema.Options{Lenient: !strict, Passed: passed.add})
	}}
}

// passedOver collects unsupported keywords of schemas that are not strict.
type passedOver struct{ keywords map[string]bool }

// add adds a keyword.
func (p *passedOver) add(e *schema.UnsupportedError) {
	if p.keywords == nil {
		p.keywords = map[string]bool{}
	}
	p.keywords[e.Keyword] = true
}

// tell logs the keywords without an effect. It logs nothing else of a client's schema.
func (s *Server) tell(p *passedOver, param string) {
	if len(p.keywords) > 0 {
		s.cfg.Log.Info("keywords of a schema that is not strict have no effect", "param", param, "keywords", strings.Join(slices.Sorted(maps.Keys(p.keywords)), ", "))
	}
}

// grammars caches the last compiled grammars.
type grammars struct {
	vocabulary func() *grammar.Vocabulary // made on first use
	thoughts   func() *grammar.Matcher

	mu   sync.Mutex
	last []named // the most recently used is last
}

type named struct {
	key string
	*grammar.Compiled
}

// maxGrammars is the most grammars in the cache.
const maxGrammars = 16

func (s *Server) newGrammars() *grammars {
	vocabulary := sync.OnceValue(func() *grammar.Vocabulary {
		return guided.Vocabulary(s.tok, func(id int32) bool { return s.tok.IsEOG(id) || s.stops[id] })
	})
	return &grammars{vocabulary: vocabulary, thoughts: sync.OnceValue(func() *grammar.Matcher { return vocabulary().Unending() })}
}

// get returns a compiled grammar, from the cache if possible.
func (g *grammars) get(ctx context.Context, w *wanted) (*grammar.Compiled, error) {
	if w == nil {
		return nil, nil
	}
	if c := g.find(w.key); c != nil {
		return c, nil
	}
	rules, err := w.rules(ctx)
	var c *grammar.Compiled
	if err == nil {
		c, err = grammar.Compile(ctx, rules, g.vocabulary())
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, bad(w.param, "%s", clip(err.Error(), 1000))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.last) == maxGrammars {
		g.last = slices.Delete(g.last, 0, 1)
	}
	g.last = append(g.last, named{w.key, c})
	return c, nil
}

func (g *grammars) find(key string) *grammar.Compiled {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.last, func(n named) bool { return n.key == key })
	if i < 0 {
		return nil
	}
	n := g.last[i]
	g.last = append(slices.Delete(g.last, i, i+1), n)
	return n.Compiled
}
