package completion

import (
	"math"
	"slices"

	"mla/runtime/engine"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Logprob is the log-probability of a token: that of the softmax of the model's logits, before bias,
// penalties and temperature. With Request.Sampled it is that of the distribution after all samplers; -Inf for
// a token that was forced, not drawn.
type Logprob struct {
	ID  int32
	Log float64
	Top []Logprob // the most likely tokens, if asked for; their own Top is nil
}

// sampler returns the sampler of a request.
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

// grammarError says why the request's grammar allows no token; nil: it allows some.
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

// observer is a sampler that records the probability of its choice, and can be told which token to choose. It
// cannot be Portable, as it needs the logits.
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

// logprob is the log-probability of a token; drawn says that the sampler has picked it.
func (o *observer) logprob(logits []float32, id int32, drawn bool) *Logprob {
	n := o.request.Logprobs
	if !o.request.Sampled {
		return logprob(logits, id, n)
	}
	if !drawn { // the sampler's distribution is that of an earlier token
		return &Logprob{ID: id, Log: math.Inf(-1)}
	}
	p, best := o.sampler.(chooser).Candidates(id, n)
	out := &Logprob{ID: id, Log: math.Log(p)}
	for _, c := range best {
		out.Top = append(out.Top, Logprob{ID: c.ID, Log: math.Log(c.P)})
	}
	return out
}

// chooser is a sampler that reports the distribution that it drew from.
type chooser interface {
	Candidates(id int32, n int) (p float64, best []sample.Candidate)
}

// Accept implements engine.Sampler.
func (o *observer) Accept(id int32) { o.sampler.Accept(id) }

// logprob is the log-probability of a token, with the n most likely tokens.
func logprob(logits []float32, id int32, n int) *Logprob {
	most := math.Inf(-1)
	for _, x := range logits {
		most = max(most, settled(x))
	}
	sum := 0.
	var top []int32 // most likely first
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

// lowest replaces -Inf, which JSON cannot express.
const lowest = -1e9

// settled is a logit as samplers use it, without NaN and infinities.
func settled(x float32) float64 {
	switch {
	case x != x || x < lowest:
		return lowest
	case x > math.MaxFloat32:
		return math.MaxFloat32
	}
	return float64(x)
}
