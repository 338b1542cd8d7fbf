package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/fleet"
)

// Parts of OpenAI's responses that several endpoints share.

// usage is the tokens that a request has used.
type usage struct {
	Prompt     int           `json:"prompt_tokens"`
	Completion int           `json:"completion_tokens"`
	Total      int           `json:"total_tokens"`
	PromptOf   promptDetails `json:"prompt_tokens_details"`
	Details    details       `json:"completion_tokens_details"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

type details struct {
	Reasoning int `json:"reasoning_tokens"`
}

func (u *account) openAI() *usage {
	return &usage{u.prompt, u.generated, u.prompt + u.generated, promptDetails{u.cached}, details{u.reasoning}}
}

// timings is llama-server's measure of speed.
type timings struct {
	CacheN          int     `json:"cache_n"`
	PromptN         int     `json:"prompt_n"`
	PromptMS        float64 `json:"prompt_ms"`
	PromptTokenMS   float64 `json:"prompt_per_token_ms"`
	PromptPerSec    float64 `json:"prompt_per_second"`
	PredictedN      int     `json:"predicted_n"`
	PredictedMS     float64 `json:"predicted_ms"`
	PredictedTokMS  float64 `json:"predicted_per_token_ms"`
	PredictedPerSec float64 `json:"predicted_per_second"`
	DraftN          int     `json:"draft_n,omitempty"`
	DraftNAccepted  int     `json:"draft_n_accepted,omitempty"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (e *ending) timings() *timings {
	r := &e.result
	return &timings{r.Reused, r.Prompt.Tokens, milliseconds(r.Prompt.Elapsed), perToken(r.Prompt), r.Prompt.PerSecond(),
		len(r.Tokens), milliseconds(r.Decode.Elapsed), perToken(r.Decode), r.Decode.PerSecond(), r.Drafted, r.Accepted}
}

// perToken is the time per token in milliseconds; 0 without tokens.
func perToken(t engine.Timing) float64 {
	if t.Tokens == 0 {
		return 0
	}
	return milliseconds(t.Elapsed) / float64(t.Tokens)
}

// streamOptions is the fields of a request about the contents of a stream.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// tokenLogprob is a token with its log-probability.
type tokenLogprob struct {
	Token   string         `json:"token"`
	Logprob float64        `json:"logprob"`
	Bytes   []int          `json:"bytes"`
	Top     []tokenLogprob `json:"top_logprobs,omitempty"`
}

// logprobs is the log-probabilities of a chat answer; nil: they were not asked for.
type logprobs struct {
	Content []tokenLogprob `json:"content"`
}

func (s *Server) logprobs(tokens []completion.Token, asked bool) *logprobs {
	if !asked {
		return nil
	}
	out := &logprobs{Content: []tokenLogprob{}}
	for _, t := range tokens {
		l := s.tokenLogprob(*t.Logprob)
		l.Top = []tokenLogprob{}
		for _, top := range t.Logprob.Top {
			l.Top = append(l.Top, s.tokenLogprob(top))
		}
		out.Content = append(out.Content, l)
	}
	return out
}

func (s *Server) tokenLogprob(l completion.Logprob) tokenLogprob {
	bytes := s.tokenBytes(l.ID)
	return tokenLogprob{Token: string(bytes), Logprob: l.Log, Bytes: numbers(bytes)} // in JSON, incomplete characters become U+FFFD
}

// numbers converts bytes to a list, as JSON would encode them as a string.
func numbers(bytes []byte) []int {
	list := make([]int, len(bytes))
	for i, b := range bytes {
		list[i] = int(b)
	}
	return list
}

// tokenBytes is the text of a token, or its name if it has none.
func (s *Server) tokenBytes(id int32) []byte {
	if b := s.tok.TokenBytes(id); len(b) > 0 {
		return b
	}
	return []byte(s.tok.TokenText(id))
}

// models serves GET /v1/models.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.modelObject()}})
	return nil
}

// model serves GET /v1/models/NAME.
func (s *Server) model(w http.ResponseWriter, r *http.Request) error {
	if name := r.PathValue("model"); name != s.cfg.Model && !slices.Contains(s.cfg.Aliases, name) {
		return &fleet.UnknownError{Name: clip(name, 100)}
	}
	writeJSON(w, http.StatusOK, s.modelObject())
	return nil
}

// modelObject describes the loaded model.
func (s *Server) modelObject() any {
	entry := s.modelEntry(s.cfg.Model, map[string]any{"n_vocab": s.tok.VocabSize(), "n_ctx": s.cfg.Context})
	if len(s.cfg.Aliases) > 0 { // llama-server's name
		entry["aliases"] = append([]string{s.cfg.Model}, s.cfg.Aliases...)
	}
	return entry
}

// modelEntry is a model in OpenAI's and Anthropic's format, with further metadata.
func (s *Server) modelEntry(name string, meta any) map[string]any {
	return map[string]any{"id": name, "object": "model", "created": s.started.Unix(), "owned_by": "mla",
		"type": "model", "display_name": name, "created_at": s.started.UTC().Format(time.RFC3339), "meta": meta}
}

// raw is an undecoded JSON text of a request.
type raw = json.RawMessage
