package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sampler picks tokens.
type Sampler interface {
	// Next picks a token by the logits; it is negative if none is possible.
	Next(logits []float32) int32
	// Accept tells the sampler what the text consists of, for penalties.
	Accept(token int32)
}

// Request is what Generate continues, and how far.
type Request struct {
	Prompt   []int32
	Max      int // tokens to generate; negative: until the context is full
	Sampler  Sampler
	Stop     func(token int32) bool // ends the text, for instance IsEOG; nil: nothing does
	Progress Progress               // of the prompt; may be nil
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
	Reused int    // prompt tokens that were on the timeline already
	Prompt Timing // of the other prompt tokens
	Decode Timing // of the tokens run after the prompt, with sampling
}

// Timing is a number of tokens and how long they took.
type Timing struct {
	Tokens  int
	Elapsed time.Duration
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
	res := Result{Reused: s.Common(req.Prompt)}
	if len(req.Prompt) == 0 {
		res.Reason = ReasonError
		return res, errors.New("the prompt is empty: there is nothing to continue")
	}
	start := time.Now()
	err := s.Sync(ctx, req.Prompt, req.Progress)
	res.Prompt.Elapsed = time.Since(start)
	res.Prompt.Tokens = s.Common(req.Prompt) - res.Reused
	if err != nil {
		res.Reason = failure(ctx)
		return res, err
	}
	for _, t := range req.Prompt {
		req.Sampler.Accept(t)
	}
	start = time.Now()
	res.Reason, err = s.continueText(ctx, req, &res, emit)
	res.Decode.Elapsed = time.Since(start)
	return res, err
}

func (s *Session) continueText(ctx context.Context, req Request, res *Result, emit func(token int32) bool) (Reason, error) {
	for len(res.Tokens) != req.Max {
		if err := ctx.Err(); err != nil {
			return ReasonCancel, err
		}
		token := req.Sampler.Next(s.logits)
		if token < 0 {
			return ReasonError, fmt.Errorf("no token can follow position %d: all logits are -Inf or NaN", len(s.tokens)-1)
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
		if len(s.tokens) == s.context {
			return ReasonContext, nil
		}
		if err := s.Append(token); err != nil {
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
