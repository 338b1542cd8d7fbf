package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Completions in llama-server's format, and fill-in-the-middle.

// nativeFields is the fields of POST /completion beside the prompt.
type nativeFields struct {
	sampling
	structured
	progressFields
	NPredict   *int     `json:"n_predict"`
	MaxTokens  *int     `json:"max_tokens"` // another name of n_predict
	N          *int     `json:"n_cmpl"`
	Stop       texts    `json:"stop"`
	Stream     bool     `json:"stream"`
	NProbs     *int     `json:"n_probs"`
	PostProbs  bool     `json:"post_sampling_probs"`
	Tokens     bool     `json:"return_tokens"`
	NIndent    int      `json:"n_indent"`
	MaxPredict float64  `json:"t_max_predict_ms"`
	Fields     []string `json:"response_fields"`
}

// nativeRequest is the body of POST /completion.
type nativeRequest struct {
	nativeFields
	Prompt prompts `json:"prompt"`
	list   bool    // the prompts are a list, so the answers are one, too
}

// job converts the request to a job.
func (q *nativeRequest) job(ctx context.Context, s *Server) (*job, error) {
	n, err := choices(q.N)
	if err != nil {
		return nil, err
	}
	prompts, err := q.Prompt.encode(s, n)
	if err != nil {
		return nil, err
	}
	q.list = len(prompts)*n > 1
	return q.jobOf(ctx, s, prompts, n)
}

func (q *nativeRequest) forget() { q.Prompt = nil }

// jobOf is the job that continues prompts.
func (q *nativeFields) jobOf(ctx context.Context, s *Server, prompts [][]int32, n int) (j *job, err error) {
	j = &job{Request: asked(s.tok.IsEOG), prompts: prompts, n: n, ids: q.Tokens, stops: q.Stop, progress: q.Progress, perToken: q.PerToken}
	most := q.NPredict
	if most == nil {
		most = q.MaxTokens
	}
	if most != nil && *most >= 0 { // -1 means no limit, -2 until the context is full
		j.Max = *most
	}
	switch {
	case q.NProbs != nil && (*q.NProbs < 0 || *q.NProbs > maxTop):
		return nil, bad("n_probs", "%d; expected 0 to %d", *q.NProbs, maxTop)
	case q.NIndent < 0:
		return nil, bad("n_indent", "%d; expected 0 or more", q.NIndent)
	}
	if q.NProbs != nil && *q.NProbs > 0 {
		j.Logprobs, j.Sampled, j.ids = *q.NProbs, q.PostProbs, true // each piece of a stream has one token
	}
	limit := time.Duration(max(0, min(q.MaxPredict, float64(s.cfg.Limits.Request/time.Millisecond))) * float64(time.Millisecond))
	j.lines = func() *lines { return newLines(q.NIndent, limit) }
	if err = q.put(s, j); err != nil {
		return nil, err
	}
	wanted, err := s.grammarOf(q.structured, nil, "")
	if err != nil {
		return nil, err
	}
	if j.rules, err = s.textRules(ctx, wanted); err != nil {
		return nil, err
	}
	return j, q.Stop.check("stop")
}

// completion serves POST /completion and /completions.
func (s *Server) completion(w http.ResponseWriter, r *http.Request) error {
	var q nativeRequest
	return s.answerNative(w, r, &q, &q.nativeFields, &q.list)
}

// answerNative answers a request in llama-server's format.
func (s *Server) answerNative(w http.ResponseWriter, r *http.Request, q interface {
	job(context.Context, *Server) (*job, error)
}, f *nativeFields, list *bool) error {
	j, st, err := s.startRequest(w, r, q)
	if err != nil {
		return err
	}
	a := &nativeAnswers{s: s, q: f, j: j, choices: make([]nativeChoice, len(j.prompts)*j.n)}
	if f.Stream {
		a.out = s.newSSE(w)
		return s.pump(r, st, a.out, a)
	}
	answers, err := s.collect(r, st, len(a.choices))
	if err != nil {
		return err
	}
	out := make([]any, len(answers))
	for i := range answers {
		out[i] = a.whole(i, &answers[i])
	}
	if *list {
		writeJSON(w, http.StatusOK, out)
		return nil
	}
	writeJSON(w, http.StatusOK, out[0])
	return nil
}

// pick keeps only the fields of an answer that are asked for, under the names by which they are asked for:
// "a/b" is field b of object a, and clients expect it as "a/b".
func pick(answer map[string]any, fields []string) map[string]any {
	if len(fields) == 0 {
		return answer
	}
	// Structures become objects on the way.
	data, _ := json.Marshal(answer) // the answer can always be encoded
	var whole map[string]raw
	_ = json.Unmarshal(data, &whole)
	out := map[string]any{}
	for _, field := range fields {
		at, name, found := whole, "", true
		var value raw
		for path := field; found && path != ""; {
			name, path, _ = strings.Cut(path, "/")
			if value, found = at[name]; found && path != "" {
				at = nil
				found = json.Unmarshal(value, &at) == nil
			}
		}
		if found && name != "" {
			out[field] = value
		}
	}
	return out
}
