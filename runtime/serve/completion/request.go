package completion

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Request is a prompt to continue. The goroutine that runs the model calls its functions, one at a time, so
// they must be quick. If the request is cancelled, Done gets the cause of the context's end.
type Request struct {
	scheduler.Continuation
	Params sample.Params
	// Logprobs is how many of the most likely tokens are reported with each token; negative: none, not even
	// the token's own probability.
	Logprobs int
	// Sampled makes Logprobs those of the distribution after all samplers.
	Sampled bool
	// Force returns a token that must come next, whatever the model says; negative: any token. A nil Force is
	// faster.
	Force func() int32
	// Guide returns the grammar that the text currently follows, and the position in it; nil: there is never
	// one.
	Guide guided.Guide
	// Visible are control tokens whose names are part of the text, because they mark parts of it.
	Visible map[int32]bool
	Emit    func(Token) (more bool)
}

// Token is the next token of a text.
type Token struct {
	ID      int32    // -1: no token; Text is what earlier tokens have left over
	Text    string   // the characters that it completes
	Logprob *Logprob // nil unless asked for
}

// request is a running or waiting request.
type request struct {
	Request
	id      int64
	since   time.Time
	cancel  context.CancelCauseFunc
	stream  *tokenizer.Stream
	sampler engine.Sampler
	name    func(id int32) string
	tokens  atomic.Int64
}

// Start accepts all requests or none: all if there is a place for the first. It returns *BusyError,
// *UnavailableError, or an error that says what is wrong with a request; then Done is not called.
func (s *Service) Start(ctx context.Context, requests ...Request) error {
	list := make([]*request, len(requests))
	for i, r := range requests {
		sampler, err := r.sampler(s.cfg.Tokenizer)
		if err != nil {
			return err
		}
		list[i] = &request{Request: r, id: s.last.Add(1), since: time.Now(), stream: s.cfg.Tokenizer.NewStream(), name: s.cfg.Tokenizer.TokenText, sampler: sampler}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stats.State != Ready {
		return &UnavailableError{s.stats.State, s.stats.Cause}
	}
	// All answers of one call are accepted together, even if they exceed the queue: otherwise a call with
	// many answers would be refused forever.
	if most := s.stats.Sessions + s.cfg.Queue; len(s.requests) >= most {
		return &BusyError{max(0, len(s.requests)-s.stats.Sessions), s.retryAfter()}
	}
	for i, r := range list {
		if err := s.submit(ctx, r); err != nil {
			for _, before := range list[:i] {
				before.cancel(err)
			}
			return err
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// submit submits a request to the scheduler.
func (s *Service) submit(ctx context.Context, r *request) error {
	ctx, r.cancel = context.WithCancelCause(ctx)
	// A cancelled request must end even while the model does not run.
	stop := context.AfterFunc(ctx, func() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	})
	err := s.sched.Submit(ctx, scheduler.Request{
		Continuation: scheduler.Continuation{
			Prompt: r.Prompt, Scope: r.Scope, Max: r.Max, Stop: r.Stop,
			Prompted: func(done, reused int, elapsed time.Duration) {
				s.calling.Lock()
				defer s.calling.Unlock()
				if r.Prompted != nil && !s.abandoned {
					r.Prompted(done, reused, elapsed)
				}
			},
			Done: func(res engine.Result, err error) {
				stop()
				if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
					err = context.Cause(ctx)
				}
				r.cancel(nil)
				s.calling.Lock()
				defer s.calling.Unlock()
				if s.abandoned {
					return
				}
				if cause := r.grammarError(); cause != nil {
					err = cause
				}
				s.finish(r, res, err)
			},
		},
		Sampler: r.sampler, Draft: s.cfg.Draft,
		Emit: func(id int32) bool {
			s.calling.Lock()
			defer s.calling.Unlock()
			return !s.abandoned && r.emit(id)
		},
	})
	if err != nil {
		stop()
		r.cancel(err)
		return err
	}
	s.requests[r.id] = r
	return nil
}

// finish emits the rest of a request's text, and ends it.
func (s *Service) finish(r *request, res engine.Result, err error) {
	s.ended(r, res)
	if text := r.stream.Flush(); text != "" {
		r.Emit(Token{ID: -1, Text: text})
	}
	r.Done(res, err)
}

// ended removes a request.
func (s *Service) ended(r *request, res engine.Result) {
	s.cfg.Prompts.ran(r.Scope, r.Prompt, res.Tokens)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, r.id)
	if res.Reason != engine.ReasonError && res.Reason != engine.ReasonCancel {
		s.stats.Completed++
	}
	const share = 8 // number of requests in the running mean
	s.took += (time.Since(r.since) - s.took) / share
}

// retryAfter is roughly the time until one of the waiting requests begins.
func (s *Service) retryAfter() time.Duration {
	waiting := len(s.requests) - s.stats.Sessions + 1
	wait := s.took * time.Duration(waiting) / time.Duration(max(s.stats.Sessions, 1))
	return min(max(wait.Round(time.Second), time.Second), time.Minute)
}

// emit passes a token to the request.
func (r *request) emit(id int32) bool {
	r.tokens.Add(1)
	t := Token{ID: id}
	if r.Visible[id] {
		t.Text = r.stream.Flush() + r.name(id)
	} else {
		t.Text = r.stream.Push(id)
	}
	if o, ok := r.sampler.(*observer); ok {
		t.Logprob = o.last
	}
	return r.Emit(t)
}

// Info is the state of a request.
type Info struct {
	ID     int64
	Prompt int // tokens
	Tokens int // generated so far
	Since  time.Time
}

// Requests lists the current requests, in the order in which they were started.
func (s *Service) Requests() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Info, 0, len(s.requests))
	for _, r := range s.requests {
		list = append(list, Info{r.id, len(r.Prompt), int(r.tokens.Load()), r.since})
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
