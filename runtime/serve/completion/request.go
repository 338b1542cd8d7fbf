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

// Request is a prompt to continue. Its functions are called by the goroutine that runs
// the model, one at a time: they must be quick. The error that Done gets is the cause of
// the context's end if the request was cancelled.
type Request struct {
	scheduler.Continuation
	Params sample.Params
	// Logprobs is how many of the likeliest tokens come with each token; negative: none,
	// and no probability of the token itself.
	Logprobs int
	// Sampled has Logprobs be those of the tokens that the sampler drew from, after all samplers.
	Sampled bool
	// Force is a token that has to come next, whatever the model says; negative: any. It
	// may be nil, which is quicker.
	Force func() int32
	// Guide says which grammar the text follows at the moment, and where it is in it; nil:
	// none, ever.
	Guide guided.Guide
	// Visible are control tokens that print their names, as they mark parts of the text.
	Visible map[int32]bool
	Emit    func(Token) (more bool)
}

// Token is the next one of a text.
type Token struct {
	ID      int32    // -1: there is none, Text is what tokens before have left over
	Text    string   // the characters that it completes
	Logprob *Logprob // nil unless asked for
}

// request is one at hand.
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

// Start takes in requests, all or none of them: all if there is room for the first. It fails with *BusyError,
// *UnavailableError, or an error that says what is wrong with a request; Done is not
// called then.
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
	// Answers of one call wait for each other, however many they are: so a call that comes
	// while nobody waits is never told to come again for ever.
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

// submit hands a request to the scheduler.
func (s *Service) submit(ctx context.Context, r *request) error {
	ctx, r.cancel = context.WithCancelCause(ctx)
	// Cancelling has to be noticed while nothing runs, too.
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

// finish passes on what is left of a request's text, and its end.
func (s *Service) finish(r *request, res engine.Result, err error) {
	s.ended(r, res)
	if text := r.stream.Flush(); text != "" {
		r.Emit(Token{ID: -1, Text: text})
	}
	r.Done(res, err)
}

// ended forgets a request.
func (s *Service) ended(r *request, res engine.Result) {
	s.cfg.Prompts.ran(r.Scope, r.Prompt, res.Tokens)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, r.id)
	if res.Reason != engine.ReasonError && res.Reason != engine.ReasonCancel {
		s.stats.Completed++
	}
	const share = 8 // of the last ones in the mean
	s.took += (time.Since(r.since) - s.took) / share
}

// retryAfter is about how long it takes until one of those that wait can begin.
func (s *Service) retryAfter() time.Duration {
	waiting := len(s.requests) - s.stats.Sessions + 1
	wait := s.took * time.Duration(waiting) / time.Duration(max(s.stats.Sessions, 1))
	return min(max(wait.Round(time.Second), time.Second), time.Minute)
}

// emit passes a token on.
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

// Info is a request at hand.
type Info struct {
	ID     int64
	Prompt int // tokens
	Tokens int // generated so far
	Since  time.Time
}

// Requests are those at hand, those that were started first in front.
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
