package engine

import (
	"context"
	"errors"
	"time"

	"mla/runtime/device"
)

// Sampler picks tokens.
type Sampler interface {
	// Next picks a token by its logits; negative if none is possible.
	Next(logits []float32) int32
	// Accept tells the sampler which token the text continues with, for penalties.
	Accept(token int32)
}

// Portable is a Sampler whose choice a device can make in its place.
type Portable interface {
	Sampler
	// Sampling is the sampler's state; nil if only the host can pick the next token.
	Sampling() *device.Sampling
	// Skip tells the sampler that the device has picked a token.
	Skip()
}

// Watching is a Sampler that picks by more than the tokens that it has accepted, such as a grammar that
// follows the text. Every token has to be passed on before it picks the next one, so Model.Pick picks none
// after a draft.
type Watching interface {
	Sampler
	Watches()
}

// Request is the prompt and the limits of Generate.
type Request struct {
	Prompt   []int32
	Max      int // tokens to generate; negative: until the context is full
	Sampler  Sampler
	Stop     func(token int32) bool // ends the text, for instance IsEOG; nil: no token does
	Progress Progress               // of the prompt; may be nil
	// Ahead is how many tokens a device picks and runs as one unit of work, if the device can and Sampler is
	// Portable. 0: Sampler picks every token. The tokens are the same.
	Ahead int
	// Draft drafts tokens, which are run in one batch with the token before them, if replays take several
	// rows; nil: no drafts. The tokens are the same, except where the rounding of logits of several rows
	// changes a pick.
	Draft Drafter
}

// Reason says why a generation ended.
type Reason string

// Values of Reason.
const (
	ReasonStop    Reason = "stop"    // Request.Stop, or the receiver of the tokens, has ended it
	ReasonLength  Reason = "length"  // Request.Max tokens
	ReasonContext Reason = "context" // the context is full
	ReasonCancel  Reason = "cancel"  // the context.Context was cancelled
	ReasonError   Reason = "error"
)

// Result is the tokens, counts and times of Generate.
type Result struct {
	Tokens []int32 // the generated ones, without the one that stopped it
	Reason Reason
	Reused int    // prompt tokens that were on the timeline or in the model's pages before
	Prompt Timing // of the other prompt tokens
	Decode Timing // of the tokens run after the prompt, with sampling
	// FirstToken is the time to the first token, from the call (or from the submission of a request) until it
	// was passed on. 0: there was no token.
	FirstToken time.Duration
	// Drafted is the number of drafts, Accepted how many of them became part of the text.
	Drafted, Accepted int
	Drafts            Drafts
}

// Drafts is the cost of drafts.
type Drafts struct {
	Rounds            int           // replays of drafts in one batch with a token
	Guessing, Running time.Duration // of all rounds: the time to draft, and to run the batches
	Alone             time.Duration // the time that as many replays of one token would have taken, by the pace at the time
	CatchingUp        time.Duration // of the drafter, with tokens that were run without drafts
}

// BreakEven is how many drafts of a round have to be accepted so that drafting costs no time; 0: unknown.
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
	GPU     time.Duration // of Elapsed, how long an accelerator was busy; 0: unknown
}

// PerSecond is the speed in tokens per second; 0 without tokens.
func (t Timing) PerSecond() float64 {
	if t.Tokens == 0 || t.Elapsed <= 0 {
		return 0
	}
	return float64(t.Tokens) / t.Elapsed.Seconds()
}

// Generate syncs the timeline with the prompt and continues it. It passes every token to emit, which returns
// false to stop after this token. The last token is not run, so it is not on the timeline, unless further
// tokens were wanted. With an error it returns the result so far; when ctx is cancelled, that is ctx's error.
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

// measure starts the host's and the accelerator's clock, and returns a function that reads both.
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

// decode continues the text, with tokens that the device picks if it can.
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
	// next picks the token after the timeline; negative if none is possible.
	next() (int32, error)
	// run adds the token to the timeline.
	run(token int32) error
	// length is how many tokens of the timeline belong to the text.
	length() int
}

// host is a source of tokens that the host picks.
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

// errOther says that the receiver of the tokens has used the model itself.
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

// failure is the Reason of a failed Sync: cancelled or an error.
func failure(ctx context.Context) Reason {
	if ctx.Err() != nil {
		return ReasonCancel
	}
	return ReasonError
}
