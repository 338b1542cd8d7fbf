package server

import (
	"context"
	"net/http"

	"mla/runtime/text/chat"
)

// ollamaGenerate is the body of POST /api/generate.
type ollamaGenerate struct {
	ollamaFields
	Prompt   string `json:"prompt"`
	Suffix   string `json:"suffix"`
	System   string `json:"system"`
	Template string `json:"template"`
	Raw      bool   `json:"raw"` // the prompt is used without the template
	Images   []raw  `json:"images"`
}

// job converts the request to a job: a chat with one message, unless the prompt is raw or has a suffix.
func (q *ollamaGenerate) job(ctx context.Context, s *Server) (*job, error) {
	switch {
	case len(q.Images) > 0:
		return nil, bad("images", "the model reads only text")
	case q.Template != "":
		return nil, bad("template", "is not supported: the model's own is used, and none with raw")
	case q.Raw || q.Suffix != "":
		return q.text(ctx, s)
	}
	c := &ollamaChat{ollamaFields: q.ollamaFields}
	if q.System != "" {
		c.Messages = append(c.Messages, ollamaMessage{Role: chat.System, Content: q.System})
	}
	c.Messages = append(c.Messages, ollamaMessage{Role: chat.User, Content: q.Prompt})
	return c.job(ctx, s)
}

// text is the job that continues a text.
func (q *ollamaGenerate) text(ctx context.Context, s *Server) (*job, error) {
	o, err := q.options()
	if err != nil {
		return nil, err
	}
	t := &textRequest{sampling: o.sampling, Prompt: prompts{{{text: q.Prompt}}}, Suffix: q.Suffix, MaxTokens: o.NumPredict, Stop: o.Stop}
	if t.Format, err = q.format(); err != nil {
		return nil, err
	}
	if t.MaxTokens == nil {
		all := -1
		t.MaxTokens = &all
	}
	j, err := t.job(ctx, s)
	if err != nil {
		return nil, err
	}
	return j, o.withinContext(s, j)
}

// forget implements forgetful.
func (q *ollamaGenerate) forget() { q.Prompt, q.Suffix, q.System, q.Format = "", "", "", nil }

// loads says whether the request only wants the model to be loaded.
func (q *ollamaGenerate) loads() bool { return q.Prompt == "" && q.Suffix == "" }

// ollamaGenerates serves POST /api/generate.
func (s *Server) ollamaGenerates(w http.ResponseWriter, r *http.Request) error {
	var q ollamaGenerate
	return s.answerOllama(w, r, &q, &q.ollamaFields, func(p ollamaPiece) map[string]any {
		out := map[string]any{"response": p.text}
		if p.thinking != "" {
			out["thinking"] = p.thinking
		}
		return out
	})
}
