package mla

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"mla/runtime/engine"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Generation says how a text is continued. The zero value takes the likeliest token every
// time, until the model ends the text or the context is full.
type Generation struct {
	Max      int       // tokens; 0: no limit but the context's
	Stop     []string  // end the text, and are not part of it
	Sampling *Sampling // nil: the likeliest token every time
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
	Text   string
	Tokens []int32 // that were generated
	Reason Reason  // why it ended
	Prompt int     // tokens of the prompt
	Reused int     // of these, found in the caches
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
	s, err := m.model.NewSession()
	if err != nil {
		return nil, err
	}
	return &Session{model: m, session: s}, nil
}

// Close ends the session. Closing twice does nothing.
func (s *Session) Close() error { return s.session.Close() }

// Tokens are the session's text as far as it was run. The caller must not change them.
func (s *Session) Tokens() []int32 { return s.session.Tokens() }

// Generate continues a prompt, and yields the text that follows while it comes. The session's
// text becomes the prompt; what both have in common is not run again. Whole characters are
// yielded, and nothing that a stop text may begin with. An error is the last that is yielded:
// ctx's if that is done. [Session.Last] says afterwards what was done.
func (s *Session) Generate(ctx context.Context, prompt string, g Generation) iter.Seq2[string, error] {
	return s.generate(ctx, s.model.Tokenize(prompt), s.model.tokenizer.IsEOG, g)
}

// Last is what the last generation did.
func (s *Session) Last() Result { return s.last }

// generate continues tokens until end says that a token ends the text.
func (s *Session) generate(ctx context.Context, prompt []int32, end func(int32) bool, g Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		start, left := time.Now(), false
		s.last = Result{Reason: Failed, Prompt: len(prompt)}
		sampler, err := s.model.sampler(g, end)
		if err != nil {
			yield("", err)
			return
		}
		out := s.model.newWriter(g.Stop, func(text string) bool {
			left = left || !yield(text, nil)
			return !left
		})
		res, err := s.session.Generate(ctx, engine.Request{Prompt: prompt, Max: g.max(), Sampler: sampler, Stop: end, Ahead: ahead}, out.token)
		if !left {
			out.end()
		}
		s.last = out.result(res, len(prompt))
		s.last.Elapsed = time.Since(start)
		if err != nil && !left {
			yield("", err)
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

// sampler picks as the generation says.
func (m *Model) sampler(g Generation, end func(int32) bool) (*sample.Sampler, error) {
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

// writer makes text of tokens, and hands over what is certain.
type writer struct {
	stream *tokenizer.Stream
	stops  *sample.Stopper
	emit   func(text string) bool // false ends the text
	text   strings.Builder
	done   bool // a stop text was found, or nobody wants more
}

func (m *Model) newWriter(stops []string, emit func(string) bool) *writer {
	return &writer{stream: m.tokenizer.NewStream(), stops: sample.NewStopper(stops), emit: emit}
}

// token adds what a token completes; false ends the text.
func (w *writer) token(id int32) bool { return w.write(w.stream.Push(id)) }

func (w *writer) write(text string) bool {
	text, stopped := w.stops.Push(text)
	w.put(text)
	w.done = w.done || stopped
	return !w.done
}

// end hands over what was held back.
func (w *writer) end() {
	if !w.done && w.write(w.stream.Flush()) {
		w.put(w.stops.Flush())
	}
}

func (w *writer) put(text string) {
	if text == "" {
		return
	}
	w.text.WriteString(text)
	w.done = !w.emit(text)
}

// result is that of a generation whose text was written.
func (w *writer) result(r engine.Result, prompt int) Result {
	return Result{Text: w.text.String(), Tokens: r.Tokens, Reason: r.Reason, Prompt: prompt, Reused: r.Reused, FirstToken: r.FirstToken}
}
