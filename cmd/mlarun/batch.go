package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mla/cmd/mlarun/jobs"
	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// job is a line of -parallel's input, with its state.
type job struct {
	*jobs.Job
	turn   *turn.Turn
	params sample.Params
}

// answer is a line of -parallel's output.
type answer struct {
	Line   int    `json:"line"` // number of the input line, from 1
	Text   string `json:"text"`
	Think  string `json:"reasoning_content,omitempty"`
	End    string `json:"end"`    // an engine.Reason
	Prompt int    `json:"prompt"` // tokens
	Reused int    `json:"reused"` // of these, tokens found in the pages
	Tokens int    `json:"tokens"` // generated tokens
	Error  string `json:"error,omitempty"`
}

// batch answers or continues every line of a text, -parallel of them at once.
func (s *settings) batch(text string) (err error) {
	read, err := jobs.Read(text, &s.max, s.sampling.stops, s.sampling.settled())
	if err != nil {
		return err
	}
	var list []*job
	for _, j := range read {
		list = append(list, &job{Job: j})
	}
	var tok *tokenizer.Tokenizer
	m, err := s.loadFor(func(eng *engine.Engine) (capacity, error) {
		if tok, err = eng.Tokenizer(); err != nil {
			return capacity{}, err
		}
		if err := s.encode(eng, tok, list); err != nil {
			return capacity{}, err
		}
		r, err := s.capacityFor(eng, s.context, 1, eng.Free())
		return r.forJobs(list, s.parallel), err
	})
	if err != nil {
		return err
	}
	defer closing(m, &err)
	if err := s.describe(m); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	if err := s.sharing(ctx, m, list); err != nil {
		return err
	}
	if err := s.runBatch(ctx, m, tok, list); err != nil {
		return err
	}
	return s.shared(ctx, m, list)
}

// encode tokenises the prompts.
func (s *settings) encode(eng *engine.Engine, tok *tokenizer.Tokenizer, list []*job) error {
	s.sampling.recommended(eng.File())
	for _, j := range list {
		j.params = j.Sampling(s.sampling.of(tok))
		if _, err := sample.New(j.params); err != nil {
			return err
		}
	}
	messages, err := s.takesMessages(eng)
	if err != nil {
		return err
	}
	if !messages {
		for _, j := range list {
			j.turn = turn.Text(tok, tok.Encode(*j.Prompt, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: s.special}))
		}
		return nil
	}
	c, err := newConversation(s, &loaded{engine: eng})
	for _, j := range list {
		if err != nil {
			return err
		}
		c.clear()
		c.messages = append(c.messages, chat.Message{Role: chat.User, Content: *j.Prompt})
		j.turn, err = c.prompt()
	}
	return err
}

// forJobs returns the capacity for the longest jobs, with parallel jobs at once. A job without a limit gets
// answerCapacity tokens, and one such job gets the whole context: the scheduler lets jobs wait for pages.
func (r capacity) forJobs(list []*job, parallel int) capacity {
	context := r.context
	var pages []int
	longest := 0
	for _, j := range list {
		prompt, capacity := len(j.turn.Prompt), answerCapacity
		if *j.Max >= 0 {
			capacity = *j.Max
		} else {
			longest = context
		}
		pages = append(pages, plan.Pages(min(prompt+min(capacity, max(context-prompt, 0)), max(context, 0))))
	}
	slices.Sort(pages)
	r.sessions, r.pages = min(parallel, len(list)), 0
	for _, n := range pages[len(pages)-r.sessions:] {
		r.pages = min(r.pages+n, device.MaxPages)
	}
	r.pages = max(r.pages, min(plan.Pages(longest), device.MaxPages), 1)
	return r
}

// running holds the state of a batch.
type running struct {
	*settings
	answers []*answer // nil: not finished
	printed int
	failed  int
	first   []time.Duration // the time to the first token of each text that has begun
	bar     *progress
	err     error // error of writing the output
}

// runBatch runs jobs and prints the answers in their order, each as soon as it and all earlier ones are
// finished.
func (s *settings) runBatch(ctx context.Context, m *loaded, tok *tokenizer.Tokenizer, list []*job) error {
	sched, err := scheduler.New(m.model, scheduler.Config{Ahead: s.ahead})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &running{settings: s, answers: make([]*answer, len(list)), bar: s.progress("prompts")}
	defer b.bar.clear()
	start := time.Now()
	rules, err := s.form.of(list[0].turn) // all jobs are of one kind
	if err != nil {
		return err
	}
	for i, j := range list {
		out := j.turn.NewWriter(j.Stop, rules)
		sampler, err := s.sampler(tok, j.params, j.turn, out)
		if err != nil {
			return err
		}
		done := func(res engine.Result, err error) {
			out.End(res.Reason == engine.ReasonStop)
			a := &answer{Line: j.Line, Text: out.Text(), Think: out.Thoughts(), End: string(res.Reason), Prompt: len(j.turn.Prompt), Reused: res.Reused, Tokens: len(res.Tokens)}
			if res.FirstToken > 0 {
				b.first = append(b.first, res.FirstToken)
			}
			if err != nil {
				a.Error = s.explain(noToken(out, err), m.engine).Error()
			}
			if b.finish(i, a); b.err != nil {
				cancel() // the output has failed, so further answers are useless
			}
		}
		if err := sched.Submit(ctx, scheduler.Request{Continuation: scheduler.Continuation{Prompt: j.turn.Prompt, Max: *j.Max, Stop: j.turn.Ends, Done: done}, Sampler: sampler, Draft: s.drafting().Drafters(), Emit: out.Token}); err != nil {
			done(engine.Result{Reason: engine.ReasonError}, err)
		}
	}
	if err := errors.Join(sched.Run(), b.err); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.bar.clear()
	b.summary(time.Since(start))
	if b.failed > 0 {
		return fmt.Errorf("%d of %d prompts failed; their lines say why", b.failed, len(list))
	}
	return nil
}

// finish records an answer, and prints the answers that are next in order.
func (b *running) finish(i int, a *answer) {
	b.answers[i] = a
	if a.Error != "" {
		b.failed++
	}
	for b.printed < len(b.answers) && b.answers[b.printed] != nil && b.err == nil {
		e := json.NewEncoder(shown(b.env.out))
		e.SetEscapeHTML(false) // code often contains < and &
		b.err = e.Encode(b.answers[b.printed])
		b.printed++
	}
	b.bar.count(b.printed, len(b.answers))
}

// summary prints the totals.
func (b *running) summary(took time.Duration) {
	var sum answer
	for _, a := range b.answers {
		sum.Prompt, sum.Reused, sum.Tokens = sum.Prompt+a.Prompt, sum.Reused+a.Reused, sum.Tokens+a.Tokens
	}
	b.note("%d prompts of %d tokens (%d reused) · %sgenerated %d tokens in %.2f s, %.2f tok/s · seed %d\n",
		len(b.answers), sum.Prompt, sum.Reused, b.waited(), sum.Tokens, took.Seconds(), float64(sum.Tokens)/max(took.Seconds(), 1e-9), b.sampling.seed)
}

// waited describes the times to the first token, counted from the start, as prompts wait for each other.
func (b *running) waited() string {
	if len(b.first) == 0 {
		return ""
	}
	slices.Sort(b.first)
	last := len(b.first) - 1
	return fmt.Sprintf("first token %s in the middle, %s at most · ", seconds(b.first[last/2]), seconds(b.first[last]))
}
