package completion

import (
	"math"
	"slices"

	"mla/runtime/engine"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Logprob is how likely a token was: the logarithm of its share of the softmax of the
// model's logits, before bias, penalties and temperature; or with Request.Sampled of its
// probability after them, -Inf for a token that was not drawn but forced.
type Logprob struct {
	ID  int32
	Log float64
	Top []Logprob // the likeliest tokens, if asked for; theirs is nil
}

// sampler picks a request's tokens.
func (r *Request) sampler(t *tokenizer.Tokenizer) (engine.Sampler, error) {
	p := r.Params
	p.Vocabulary = t
	own, err := sample.New(p)
	if err != nil {
		return nil, err
	}
	var s engine.Sampler = own
	if r.Guide != nil {
		s = guided.New(own, r.Guide)
	}
	if r.Logprobs >= 0 || r.Force != nil {
		s = &observer{sampler: s, request: r}
	}
	return s, nil
}

// grammarError is why no token could be picked by the request's grammar; nil otherwise.
func (r *request) grammarError() error {
	s := r.sampler
	if o, ok := s.(*observer); ok {
		s = o.sampler
	}
	if g, ok := s.(*guided.Sampler); ok {
		return g.Err()
	}
	return nil
}

// observer is a sampler that notes how likely its choice was, and may be told it. It
// cannot be Portable: it has to see the logits.
type observer struct {
	sampler engine.Sampler
	request *Request
	last    *Logprob
}

// Next implements engine.Sampler.
func (o *observer) Next(logits []float32) int32 {
	id := int32(-1)
	if o.request.Force != nil {
		id = o.request.Force()
	}
	drawn := id < 0
	if drawn {
		id = o.sampler.Next(logits)
	}
	if o.last = nil; id >= 0 && o.request.Logprobs >= 0 {
		o.last = o.logprob(logits, id, drawn)
	}
	return id
}

// logprob is how likely a token was. drawn says that the sampler picked it.
func (o *observer) logprob(logits []float32, id int32, drawn bool) *Logprob {
	n := o.request.Logprobs
	if !o.request.Sampled {
		return logprob(logits, id, n)
	}
	if !drawn { // what the sampler knows is of an earlier token
		return &Logprob{ID: id, Log: math.Inf(-1)}
	}
	p, best := o.sampler.(chooser).Candidates(id, n)
	out := &Logprob{ID: id, Log: math.Log(p)}
	for _, c := range best {
		out.Top = append(out.Top, Logprob{ID: c.ID, Log: math.Log(c.P)})
	}
	return out
}

// chooser is a sampler that says what it drew from.
type chooser interface {
	Candidates(id int32, n int) (p float64, best []sample.Candidate)
}

// Accept implements engine.Sampler.
func (o *observer) Accept(id int32) { o.sampler.Accept(id) }

// logprob is that of a token, with the n likeliest ones.
func logprob(logits []float32, id int32, n int) *Logprob {
	most := math.Inf(-1)
	for _, x := range logits {
		most = max(most, settled(x))
	}
	sum := 0.
	var top []int32 // best first
	for i, x := range logits {
		x := settled(x)
		sum += math.Exp(x - most)
		if n == 0 || len(top) == n && x <= settled(logits[top[n-1]]) {
			continue
		}
		at := len(top)
		for at > 0 && x > settled(logits[top[at-1]]) {
			at--
		}
		top = slices.Insert(top, at, int32(i))
		top = top[:min(n, len(top))]
	}
	norm := most + math.Log(sum)
	out := &Logprob{ID: id, Log: settled(logits[id]) - norm}
	for _, t := range top {
		out.Top = append(out.Top, Logprob{ID: t, Log: settled(logits[t]) - norm})
	}
	return out
}

// lowest takes the place of -Inf, which JSON does not have.
const lowest = -1e9

// settled is a logit as a sampler takes it, within limits.
func settled(x float32) float64 {
	switch {
	case x != x || x < lowest:
		return lowest
	case x > math.MaxFloat32:
		return math.MaxFloat32
	}
	return float64(x)
}
