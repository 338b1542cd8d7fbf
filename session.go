package mla

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
)

// Generation says how a text is continued. The zero value takes the likeliest token every
// time, until the model ends the text or the context is full.
type Generation struct {
	Max      int       // tokens; 0: no limit but the context's
	Stop     []string  // end the text, and are not part of it
	Sampling *Sampling // nil: the likeliest token every time
	// Schema is a JSON Schema, Grammar one in llama.cpp's GBNF: the text follows it, an answer
	// from where the thoughts end. At most one of both. Where the model may call tools, an answer
	// follows it or is calls, whose arguments follow the schemas of the tools.
	Schema, Grammar string
	// Thoughts gets the thoughts of an answer while they come, before the answer; nil: only
	// Result has them.
	Thoughts func(text string)
	// Progress is told how many tokens of the prompt are done; nil: nobody is told.
	Progress func(Progress)
}

// rules are what turns like t follow.
func (g *Generation) rules(ctx context.Context, t *turn.Turn) (guided.Rules, error) {
	text, err := g.form(ctx)
	if err != nil {
		return guided.Rules{}, err
	}
	return t.Rules(ctx, text)
}

// form is what the text follows; nil: anything.
func (g *Generation) form(ctx context.Context) (*grammar.Grammar, error) {
	switch {
	case g.Schema != "" && g.Grammar != "":
		return nil, errors.New("both a Schema and a Grammar; expected one of them at most")
	case g.Schema != "":
		return schema.Compile(ctx, []byte(g.Schema), schema.Options{})
	case g.Grammar != "":
		return grammar.ParseGBNF(g.Grammar)
	}
	return nil, nil
}

// Sampling says how a token is picked by the logits. Begin with [Greedy] and change what is
// to be otherwise. Equal values give equal texts. Vocabulary is the model's, whatever it is, and
// Ends are the tokens that end the text unless they are given.
type Sampling = sample.Params

// Step is a step of Sampling.Order: see [SamplingOrder].
type Step = sample.Step

// SamplingOrder reads the order of the steps by llama.cpp's names: penalties, dry, top_n_sigma,
// top_k, typ_p, top_p, min_p, xtc and temperature, which is the order unless one is given. A
// step without a name is off.
func SamplingOrder(names ...string) ([]Step, error) { return sample.ParseOrder(names) }

// Greedy is sampling that takes the likeliest token.
func Greedy() Sampling { return sample.Off() }

// Result is what a generation did.
type Result struct {
	Text string
	// Thoughts are what the model thought before an answer, Calls the tools that it calls.
	Thoughts string
	Calls    []ToolCall
	Tokens   []int32 // that were generated
	Reason   Reason  // why it ended
	Prompt   int     // tokens of the prompt
	Reused   int     // of these, found in the caches
	// Drafted is how many tokens were drafted, Accepted how many of these are in the text.
	Drafted, Accepted int
	// FirstToken is how long the first token was waited for, Elapsed how long all took.
	FirstToken, Elapsed time.Duration
}

// Reason says why a generation ended.
type Reason = engine.Reason

// The reasons. A loop that is left before its end is a Stop.
const (
	Stop        = engine.ReasonStop    // by the model, a stop text, or the receiver
	Length      = engine.ReasonLength  // Generation.Max
	ContextFull = engine.ReasonContext // as many tokens as Options.Context
	Canceled    = engine.ReasonCancel  // the context.Context is done
	Failed      = engine.ReasonError
)

// ahead is how many tokens a GPU picks and runs as one unit of work.
const ahead = 4

// Session is a text that goes on: its tokens, and what the latent caches hold of them.
type Session struct {
	model   *Model
	session *engine.Session
	last    Result
}

// NewSession begins an empty text. It fails if as many sessions are open as
// Options.Sessions. Sessions that begin alike share their caches.
func (m *Model) NewSession() (*Session, error) {
	if m.served {
		return nil, errServed
	}
	s, err := m.model.NewSession()
	if err != nil {
		return nil, err
	}
	return &Session{model: m, session: s}, nil
}

var errServed = errors.New("the model belongs to its server")

// Close ends the session. Closing twice does nothing.
func (s *Session) Close() error { return s.session.Close() }

// Tokens are the session's text as far as it was run. The caller must not change them.
func (s *Session) Tokens() []int32 { return s.session.Tokens() }

// Generate continues a prompt, and yields the text that follows while it comes. The session's
// text becomes the prompt; what both have in common is not run again. Whole characters are
// yielded, and nothing that a stop text may begin with. An error is the last that is yielded:
// ctx's if that is done. [Session.Last] says afterwards what was done.
func (s *Session) Generate(ctx context.Context, prompt string, g Generation) iter.Seq2[string, error] {
	return s.generate(ctx, turn.Text(s.model.tokenizer, s.model.Tokenize(prompt)), g)
}

// Last is what the last generation did.
func (s *Session) Last() Result { return s.last }

// generate continues a turn's prompt.
func (s *Session) generate(ctx context.Context, t *turn.Turn, g Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		start, left := time.Now(), false
		s.last = Result{Reason: Failed, Prompt: len(t.Prompt)}
		out, sampler, err := s.model.writer(ctx, t, &g)
		if err != nil {
			yield("", err)
			return
		}
		out.Emit = func(text string) bool {
			left = left || !yield(text, nil)
			return !left
		}
		drafter, err := s.model.drafting.Drafter(s.session)
		if err != nil {
			yield("", err)
			return
		}
		res, err := s.session.Generate(ctx, engine.Request{Prompt: t.Prompt, Max: g.max(), Sampler: sampler, Stop: t.Ends,
			Progress: tell[int](g.Progress, Prompting), Ahead: ahead, Draft: drafter}, out.Token)
		if !left {
			out.End(res.Reason == Stop)
		}
		s.last = result(t, out, res)
		s.last.Elapsed = time.Since(start)
		if err != nil && !left {
			yield("", explain(out, err))
		}
	}
}

// max is the limit as the engine has it.
func (g *Generation) max() int {
	if g.Max == 0 {
		return -1
	}
	return g.Max
}

// writer prepares a turn: what writes its tokens, and what picks them.
func (m *Model) writer(ctx context.Context, t *turn.Turn, g *Generation) (*turn.Writer, engine.Sampler, error) {
	rules, err := g.rules(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	return m.ruled(t, g, rules)
}

// ruled is writer with rules that are known.
func (m *Model) ruled(t *turn.Turn, g *Generation, rules guided.Rules) (*turn.Writer, engine.Sampler, error) {
	own, err := m.sampler(g, t.Ends)
	if err != nil {
		return nil, nil, err
	}
	w := t.NewWriter(g.Stop, rules)
	w.Think = g.Thoughts
	if w.Answer == nil {
		return w, own, nil
	}
	return w, w.Answer.Sampler(own), nil
}

// explain is why a text could not go on.
func explain(w *turn.Writer, err error) error {
	var none *engine.NoTokenError
	if errors.As(err, &none) {
		return w.Answer.Explain(err)
	}
	return err
}

// result is that of a turn that was written.
func result(t *turn.Turn, w *turn.Writer, r engine.Result) Result {
	return Result{Text: w.Text(), Thoughts: w.Thoughts(), Calls: w.Calls, Tokens: r.Tokens, Reason: r.Reason,
		Prompt: len(t.Prompt), Reused: r.Reused, Drafted: r.Drafted, Accepted: r.Accepted, FirstToken: r.FirstToken}
}

// sampler picks as the generation says.
func (m *Model) sampler(g *Generation, end func(int32) bool) (*sample.Sampler, error) {
	p := sample.Off()
	if g.Sampling != nil {
		p = *g.Sampling
	}
	p.Vocabulary = m.tokenizer
	if p.MinTokens > 0 && p.Ends == nil {
		p.Ends = sample.EndsOf(m.VocabSize(), end)
	}
	return sample.New(p)
}

// Logits runs tokens and returns the logits of the token that follows them, one for every
// token of the vocabulary. The session's text becomes the tokens; what both have in common
// is not run again.
func (s *Session) Logits(ctx context.Context, tokens []int32) ([]float32, error) {
	if err := s.session.Sync(ctx, tokens, nil); err != nil {
		return nil, err
	}
	return slices.Clone(s.session.Logits()), nil
}
