package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"mla/runtime/text/tokenizer"
)

// infillRequest is the body of POST /infill: the text before and after a gap, pieces of other files, and the
// beginning of the answer.
type infillRequest struct {
	nativeFields
	Prefix string `json:"input_prefix"`
	Suffix string `json:"input_suffix"`
	Prompt string `json:"prompt"`
	Extra  []struct {
		Filename string  `json:"filename"`
		Text     *string `json:"text"`
	} `json:"input_extra"`
}

// middle is a gap in a text that a model is to fill.
type middle struct {
	extra          []int32 // pieces of other files, the nearest one last
	prefix, suffix []int32
	begun          []int32 // the beginning of the answer
}

// errNoFIM says that the model has no fill-in-the-middle tokens.
func errNoFIM(param string) error {
	return bad(param, "the model cannot fill in a middle: its file names no tokens for one (tokenizer.ggml.fim_pre_token_id …)")
}

// job converts the request to a job.
func (q *infillRequest) job(ctx context.Context, s *Server) (*job, error) {
	fim := s.tok.FIM()
	if !fim.Known() {
		return nil, errNoFIM("input_prefix")
	}
	m := middle{}
	var err error
	for _, part := range []struct {
		text string
		at   *[]int32
	}{{q.Prefix, &m.prefix}, {q.Suffix, &m.suffix}, {q.Prompt, &m.begun}} {
		if *part.at, err = s.tokens(part.text, tokenizer.EncodeOptions{}); err != nil {
			return nil, err
		}
	}
	if m.extra, err = q.others(s, fim); err != nil {
		return nil, err
	}
	most := q.NPredict
	if most == nil {
		most = q.MaxTokens
	}
	answer := -1
	if most != nil {
		answer = *most
	}
	j, err := q.jobOf(ctx, s, [][]int32{m.encode(s, fim, answer)}, 1)
	if err == nil {
		j.Stop = s.fimEnd(fim)
	}
	return j, err
}

// forget implements forgetful.
func (q *infillRequest) forget() { q.Prefix, q.Suffix, q.Extra = "", "", nil }

// fimEnd returns a function that says which tokens end the filled text.
func (s *Server) fimEnd(fim tokenizer.FIM) func(int32) bool {
	return func(id int32) bool { return s.tok.IsEOG(id) || fim.Ends(id) }
}

// others tokenises the pieces of other files as llama-server does: with the model's own tokens if it has
// them, else after a line that announces each.
func (q *infillRequest) others(s *Server, fim tokenizer.FIM) (list []int32, err error) {
	add := func(mark int32, text string) {
		ids, failed := s.tokens(text, tokenizer.EncodeOptions{})
		if err == nil {
			err = failed
		}
		if mark >= 0 {
			list = append(list, mark)
		}
		list = append(list, ids...)
	}
	if fim.Repo >= 0 {
		add(fim.Repo, "project\n")
	}
	for i, extra := range q.Extra {
		if extra.Text == nil {
			return nil, bad(fmt.Sprintf("input_extra[%d].text", i), "expected a string")
		}
		name := extra.Filename
		set(&name, "tmp")
		if fim.File >= 0 {
			add(fim.File, name+"\n")
		} else {
			add(-1, "\n\n--- snippet ---\n\n")
		}
		add(-1, *extra.Text)
	}
	if fim.File >= 0 {
		add(fim.File, "filename\n")
	}
	return list, err
}

// encode makes a prompt that fits the context together with an answer of answer tokens (negative: any
// number). It cuts the text that is farthest from the gap first: the beginning of other files, then of the
// text before the gap, and the end of the text after it.
func (m *middle) encode(s *Server, fim tokenizer.FIM, answer int) []int32 {
	if answer < 0 {
		answer = s.cfg.Context / 4
	}
	var out []int32
	if s.tok.AddsBOS() {
		out = append(out, s.tok.BOS())
	}
	capacity := s.cfg.Context - min(answer, s.cfg.Context/2) - len(out) - len(m.begun) - 3
	capacity = max(capacity, 0)
	prefix, suffix := len(m.prefix), len(m.suffix)
	if prefix+suffix > capacity {
		suffix = min(suffix, max(capacity/4, capacity-prefix))
		prefix = min(prefix, capacity-suffix)
	}
	extra := min(len(m.extra), capacity-prefix-suffix)
	out = append(out, m.extra[len(m.extra)-extra:]...)
	out = append(out, fim.Prefix)
	out = append(out, m.prefix[len(m.prefix)-prefix:]...)
	out = append(out, m.begun...)
	out = append(out, fim.Suffix)
	out = append(out, m.suffix[:suffix]...)
	return append(out, fim.Middle)
}

// infill serves POST /infill.
func (s *Server) infill(w http.ResponseWriter, r *http.Request) error {
	var q infillRequest
	return s.answerNative(w, r, &q, &q.nativeFields, new(bool))
}

// fillIn is the prompt of a completion with a suffix. All of it has to fit.
func (s *Server) fillIn(q *textRequest) ([][]int32, error) {
	fim := s.tok.FIM()
	switch {
	case !fim.Known():
		return nil, errNoFIM("suffix")
	case len(q.Prompt) != 1:
		return nil, bad("suffix", "%d prompts; expected one", len(q.Prompt))
	}
	prefix, err := q.Prompt[0].encode(s, wholePrompt)
	if err != nil {
		return nil, err
	}
	if !s.known([][]int32{prefix}) {
		return nil, bad("prompt", "a token is outside the vocabulary of %d", s.tok.VocabSize())
	}
	suffix, err := s.tokens(q.Suffix, tokenizer.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	var out []int32
	if bos := s.tok.BOS(); len(prefix) > 0 && prefix[0] == bos && s.tok.AddsBOS() {
		out, prefix = append(out, bos), prefix[1:]
	}
	return [][]int32{slices.Concat(out, []int32{fim.Prefix}, prefix, []int32{fim.Suffix}, suffix, []int32{fim.Middle})}, nil
}
