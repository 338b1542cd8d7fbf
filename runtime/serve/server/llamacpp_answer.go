package server

import (
	"maps"
	"math"
	"slices"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/text/chat/output"
)

// nativeAnswers writes answers in llama-server's format. It is the writer of its streams.
type nativeAnswers struct {
	s       *Server
	out     *sse
	q       *nativeFields
	j       *job
	choices []nativeChoice
}

// nativeChoice is what a stream has written of a choice.
type nativeChoice struct {
	tokens  int
	newLine bool
}

// nativeProb is a token with its probability: Logprob and Top by the model, or Prob and TopProbs after all
// samplers.
type nativeProb struct {
	ID       int32        `json:"id"`
	Token    string       `json:"token"`
	Bytes    []int        `json:"bytes"`
	Logprob  *float64     `json:"logprob,omitempty"`
	Top      []nativeProb `json:"top_logprobs,omitempty"`
	Prob     *float64     `json:"prob,omitempty"`
	TopProbs []nativeProb `json:"top_probs,omitempty"`
}

func (w *nativeAnswers) prob(l completion.Logprob) nativeProb {
	p := w.s.tokenLogprob(l)
	out := nativeProb{ID: l.ID, Token: p.Token, Bytes: p.Bytes}
	if w.j.Sampled {
		share := math.Exp(l.Log)
		out.Prob = &share
	} else {
		out.Logprob = &p.Logprob
	}
	return out
}

// probs converts the probabilities of tokens.
func (w *nativeAnswers) probs(tokens []completion.Token) []nativeProb {
	list := []nativeProb{}
	for _, t := range tokens {
		if t.Logprob == nil {
			continue
		}
		p := w.prob(*t.Logprob)
		top := &p.Top
		if w.j.Sampled {
			top = &p.TopProbs
		}
		for _, l := range t.Logprob.Top {
			*top = append(*top, w.prob(l))
		}
		list = append(list, p)
	}
	return list
}

// stopType is the reason for the end in llama-server's terms.
func (e *ending) stopType() string {
	switch {
	case e.matched != "":
		return "word"
	case e.lines, e.result.Reason == engine.ReasonLength, e.result.Reason == engine.ReasonContext:
		return "limit"
	}
	return "eos"
}

// prompt is the prompt of a choice.
func (w *nativeAnswers) prompt(choice int) []int32 { return w.j.prompts[choice/w.j.n] }

// piece is the fields of every piece of an answer.
func (w *nativeAnswers) piece(choice int, text string, tokens []completion.Token, predicted int) map[string]any {
	out := map[string]any{"index": choice, "content": text, "tokens": []int32{}, "stop": false, "id_slot": -1,
		"tokens_predicted": predicted, "tokens_evaluated": len(w.prompt(choice))}
	if w.q.Tokens {
		out["tokens"] = append([]int32{}, ids(tokens)...)
	}
	if w.j.Logprobs >= 0 {
		out["completion_probabilities"] = w.probs(tokens)
	}
	return out
}

// last is the end of an answer: everything except the text.
func (w *nativeAnswers) last(choice int, text string, tokens []completion.Token, newLine bool, e *ending) map[string]any {
	out := w.piece(choice, text, tokens, len(e.result.Tokens))
	prompt := w.prompt(choice)
	maps.Copy(out, map[string]any{
		"stop": true, "model": w.s.cfg.Model, "prompt": w.s.tok.Decode(prompt), "has_new_line": newLine, "truncated": false,
		"stop_type": e.stopType(), "stopping_word": e.matched, "tokens_cached": len(prompt) + len(e.result.Tokens),
		"generation_settings": w.settings(), "timings": e.timings(),
	})
	return pick(out, w.q.Fields)
}

// whole is an answer that is not streamed.
func (w *nativeAnswers) whole(choice int, a *answer) any {
	return w.last(choice, a.content, a.tokens, hasNewLine(a.content), a.ending)
}

// settings is the sampling parameters of the answer.
func (w *nativeAnswers) settings() map[string]any {
	p, q := &w.j.Params, w.q
	bias := []any{}
	for _, id := range slices.Sorted(maps.Keys(p.LogitBias)) {
		var value any = p.LogitBias[id]
		if p.LogitBias[id] < -100 { // -Inf, which JSON cannot express
			value = false
		}
		bias = append(bias, map[string]any{"token": id, "bias": value})
	}
	out := settingsOf(p)
	maps.Copy(out, map[string]any{
		"n_predict": w.j.Max, "max_tokens": w.j.Max, "n_keep": 0, "n_discard": 0,
		"stop": append([]string{}, w.j.stops...), "ignore_eos": q.IgnoreEOS, "stream": q.Stream, "n_probs": max(w.j.Logprobs, 0), "logit_bias": bias,
		"grammar": q.Grammar, "timings_per_token": q.PerToken, "post_sampling_probs": q.PostProbs, "n_indent": q.NIndent,
	})
	return out
}

// event implements writer.
func (w *nativeAnswers) event(e event) {
	c := &w.choices[e.choice]
	if e.end != nil {
		w.out.event("", w.last(e.choice, "", e.tokens, c.newLine, e.end))
		return
	}
	if e.progress == nil && e.Kind != output.Content {
		return
	}
	c.tokens = max(c.tokens, e.count)
	c.newLine = c.newLine || hasNewLine(e.Text)
	out := w.piece(e.choice, e.Text, e.tokens, c.tokens)
	if e.progress != nil {
		out["prompt_progress"] = e.progress
	}
	if e.timings != nil {
		out["timings"] = e.timings
	}
	w.out.event("", out)
}

// ping implements writer.
func (w *nativeAnswers) ping() { w.out.text(": waiting") }

// end implements writer.
func (w *nativeAnswers) end() {}

// fail implements writer.
func (w *nativeAnswers) fail(e *apiError) { w.out.event("", map[string]any{"error": e}) }
