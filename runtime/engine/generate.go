package engine

import (
	"context"
	"errors"
	"time"

	"mla/runtime/device"
)

// Sampler picks tokens.
type Sampler interface {
	// Next picks a token by the logits; it is negative if none is possible.
	Next(logits []float32) int32
	// Accept tells the sampler what the text consists of, for penalties.
	Accept(token int32)
}

// Portable is a Sampler that a device can stand in for.
type Portable interface {
	Sampler
	// Sampling is the sampler's state; nil if it is not known yet, so that the host has to
	// pick.
	Sampling() *device.Sampling
	// Skip tells the sampler that a token was picked elsewhere.
	Skip()
}

// Watching is a Sampler that picks by more than what it has accepted, such as a grammar that
// follows the text: every token has to be handed over before it picks the next, so none is
// picked after a guess in Model.Pick.
type Watching interface {
	Sampler
	Watches()
}

// Request is what Generate continues, and how far.
type Request struct {
	Prompt   []int32
	Max      int // tokens to generate; negative: until the context is full
	Sampler  Sampler
	Stop     func(token int32) bool // ends the text, for instance IsEOG; nil: nothing does
	Progress Progress               // of the prompt; may be nil
	// Ahead is how many tokens a device that can do so picks and runs as one unit
	// of work, for a Sampler that is Portable. 0: Sampler picks every token. The
	// tokens are the same.
	Ahead int
	// Draft guesses tokens that are run in one batch with the one before them, if replays
	// take several rows; nil: nothing is guessed. The tokens are the same, but for
	// how logits of several rows are rounded.
	Draft Drafter
}

// Reason says why a generation ended.
type Reason string

// The reasons.
const (
	ReasonStop    Reason = "stop"    // Request.Stop, or the receiver of the tokens, ended it
	ReasonLength  Reason = "length"  // Request.Max tokens
	ReasonContext Reason = "context" // the context is full
	ReasonCancel  Reason = "cancel"  // the context.Context was cancelled
	ReasonError   Reason = "error"
)

// Result is what Generate did.
type Result struct {
	Tokens []int32 // generated ones, without the one that stopped it
	Reason Reason
	Reused int    // prompt tokens that were on the timeline, or in the model's pages, already
	Prompt Timing // of the other prompt tokens
	Decode Timing // of the tokens run after the prompt, with sampling
	// FirstToken is how long the caller waited for the first token: from the call, or
	// from when a request was submitted, until it was handed over. 0: there is none.
	FirstToken time.Duration
	// Drafted is how many tokens were guessed, and Accepted how many of them are the text's.
	Drafted, Accepted int
	Drafts            Drafts
}

// Drafts is what guesses cost.
type Drafts struct {
	Rounds            int           // replays of guesses in one batch with a token
	Guessing, Running time.Duration // of all rounds: to guess, and to run what was guessed
	Alone             time.Duration // of as many replays of one token, as long as they took at the time
	CatchingUp        time.Duration // with tokens that were run without guesses
}

// BreakEven is how many guesses of a round have to be right for its time not to be lost; 0: there is none.
func (d Drafts) BreakEven() float64 {
	if d.Alone == 0 {
		return 0
	}
	return float64(d.Guessing+d.Running)/float64(d.Alone) - 1
}

// Timing is a number of tokens and how long they took.
type Timing struct {
	Tokens  int
	Elapsed time.Duration
	GPU     time.Duration // of it, what an accelerator was busy; 0 if none tells
}

// PerSecond is the speed in tokens per second; 0 without tokens.
func (t Timing) PerSecond() float64 {
	if t.Tokens == 0 || t.Elapsed <= 0 {
		return 0
	}
	return float64(t.Tokens) / t.Elapsed.Seconds()
}

// Generate syncs with the prompt and continues it. Every token is passed to
// emit, which returns false to stop after it. The timeline ends with the last
// token but one, or with the last if more were asked for. An error comes with
// what was done until then; cancelling ctx gives ctx's error.
func (s *Session) Generate(ctx context.Context, req Request, emit func(token int32) bool) (Result, error) {
	res := Result{}
	if len(req.Prompt) == 0 {
		res.Reason = ReasonError
		return res, errors.New("the prompt is empty: there is nothing to continue")
	}
	var err error
	start := time.Now()
	stop := s.measure()
	res.Reused, err = s.sync(ctx, req.Prompt, req.Progress)
	res.Prompt.Elapsed, res.Prompt.GPU = stop()
	res.Prompt.Tokens = s.Common(req.Prompt) - res.Reused
	if err != nil {
		res.Reason = failure(ctx)
		return res, err
	}
	for _, t := range req.Prompt {
		req.Sampler.Accept(t)
	}
	stop = s.measure()
	res.Reason, err = s.decode(ctx, req, &res, func(token int32) bool {
		if len(res.Tokens) == 1 {
			res.FirstToken = time.Since(start)
		}
		return emit(token)
	})
	res.Decode.Elapsed, res.Decode.GPU = stop()
	return res, err
}

// measure starts two clocks, the host's and that of an accelerator, and returns
// what stops them.
func (s *Session) measure() (stop func() (elapsed, gpu time.Duration)) {
	start, busy := time.Now(), s.gpuTime()
	return func() (elapsed, gpu time.Duration) { return time.Since(start), s.gpuTime() - busy }
}

func (s *Session) gpuTime() time.Duration {
	if total := s.model.runner.Diagnostics().GPUTime; total != nil {
		return total()
	}
	return 0
}

// decode continues the text with tokens that the device picks, if it can.
func (s *Session) decode(ctx context.Context, req Request, res *Result, emit func(token int32) bool) (Reason, error) {
	if req.Draft != nil && s.model.Width() > 1 {
		d := &drafted{Session: s, sampler: req.Sampler, drafter: req.Draft, result: res, text: len(s.tokens), ahead: req.Ahead, after: []outcome{{logits: s.logits}}}
		reason, err := s.continueText(ctx, req, res, d, emit)
		return reason, errors.Join(err, d.end())
	}
	l, err := s.loop(req)
	if err != nil {
		return ReasonError, err
	}
	if l == nil {
		return s.continueText(ctx, req, res, &host{s, req.Sampler}, emit)
	}
	return s.continueText(ctx, req, res, l, emit)
}

// source is where the tokens of a text come from.
type source interface {
	// next picks the token that follows the timeline; it is negative if none can.
	next() (int32, error)
	// run adds the token to the timeline.
	run(token int32) error
	// length is how many tokens of the timeline are the text's.
	length() int
}

// host picks tokens itself.
type host struct {
	*Session
	sampler Sampler
}

func (h *host) next() (int32, error) {
	if h.logits == nil {
		return 0, errOther
	}
	return h.sampler.Next(h.logits), nil
}

func (h *host) run(token int32) error { return h.Append(token) }

func (h *host) length() int { return len(h.tokens) }

// errOther is what a receiver of tokens causes that uses the model itself.
var errOther = errors.New("another session of the model has run a token in the midst of this text")

func (s *Session) continueText(ctx context.Context, req Request, res *Result, from source, emit func(token int32) bool) (Reason, error) {
	for len(res.Tokens) != req.Max {
		if err := ctx.Err(); err != nil {
			return ReasonCancel, err
		}
		token, err := from.next()
		if err != nil {
			return ReasonError, err
		}
		if token < 0 {
			return ReasonError, &NoTokenError{Position: from.length() - 1}
		}
		if req.Stop != nil && req.Stop(token) {
			return ReasonStop, nil
		}
		req.Sampler.Accept(token)
		res.Tokens = append(res.Tokens, token)
		if !emit(token) {
			return ReasonStop, nil
		}
		if len(res.Tokens) == req.Max {
			break
		}
		if from.length() == s.model.context {
			return ReasonContext, nil
		}
		if err := from.run(token); err != nil {
			return ReasonError, err
		}
		res.Decode.Tokens++
	}
	return ReasonLength, nil
}

// failure tells a cancelled Sync from a failed one.
func failure(ctx context.Context) Reason {
	if ctx.Err() != nil {
		return ReasonCancel
	}
	return ReasonError
}
