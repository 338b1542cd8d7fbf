package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Ollama's API: its chats, completions and information about models. It cannot load, create or remove models.

// ollamaVersion is the version of Ollama's API that the server speaks.
const ollamaVersion = "0.12.0"

// fixedRoutes is the paths of Ollama's API that need no model, and paths of all APIs whose features are not
// supported.
func fixedRoutes() map[string]endpoint {
	const fixed = "is not supported: the server has the models that it was started with"
	return map[string]endpoint{
		"GET /api/version": func(w http.ResponseWriter, _ *http.Request) error {
			writeJSON(w, http.StatusOK, map[string]any{"version": ollamaVersion})
			return nil
		},
		"POST /api/pull": refuse("pull " + fixed), "POST /api/push": refuse("push " + fixed), "POST /api/create": refuse("create " + fixed),
		"POST /api/copy": refuse("copy " + fixed), "DELETE /api/delete": refuse("delete " + fixed), "POST /api/blobs/{digest}": refuse("a blob " + fixed),
		"POST /api/embed": refuse(vectors), "POST /api/embeddings": refuse(vectors), "POST /v1/embeddings": refuse(vectors), "POST /embeddings": refuse(vectors),
		"POST /embedding": refuse(vectors), "POST /v1/rerank": refuse(vectors), "POST /rerank": refuse(vectors),
	}
}

// refuse is an endpoint that says why a feature is not supported.
func refuse(what string) endpoint {
	return func(http.ResponseWriter, *http.Request) error {
		return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "not_supported", Message: what}
	}
}

// vectors is the reason for which there are no embeddings.
const vectors = "embeddings are not supported: the server makes texts only"

// ollamaName is a model's name without the tag that Ollama's clients add.
func ollamaName(name string) string { return strings.TrimSuffix(name, ":latest") }

// ollamaModel is a model in Ollama's lists.
func ollamaModel(name string, bytes int64, since time.Time) map[string]any {
	sum := sha256.Sum256([]byte(name)) // clients expect a digest; that of the file would take long to compute
	return map[string]any{"name": name, "model": name, "modified_at": since.UTC().Format(time.RFC3339Nano), "size": bytes, "digest": hex.EncodeToString(sum[:]), "details": ollamaDetails()}
}

func ollamaDetails() map[string]any {
	return map[string]any{"parent_model": "", "format": "gguf", "family": "mla", "families": []string{"mla"}, "parameter_size": "", "quantization_level": ""}
}

// ollamaTags serves GET /api/tags.
func (s *Server) ollamaTags(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"models": []any{ollamaModel(s.cfg.Model, 0, s.started)}})
	return nil
}

// ollamaLoaded is a model in GET /api/ps, without an expiry.
func ollamaLoaded(name string, bytes int64, since time.Time, context int) map[string]any {
	m := ollamaModel(name, bytes, since)
	m["expires_at"], m["size_vram"], m["context_length"] = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339), bytes, context
	return m
}

// ollamaPS serves GET /api/ps.
func (s *Server) ollamaPS(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"models": []any{ollamaLoaded(s.cfg.Model, 0, s.started, s.cfg.Context)}})
	return nil
}

// ollamaShow serves POST /api/show.
func (s *Server) ollamaShow(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Model string `json:"model"`
		Name  string `json:"name"` // the older name
	}
	share, err := s.decode(w, r, &q)
	if err != nil {
		return err
	}
	share.free()
	can := []string{"completion"}
	if s.format != nil && !s.toolless {
		can = append(can, "tools")
	}
	if _, ok := s.tok.TokenID("</think>"); ok {
		can = append(can, "thinking")
	}
	if s.tok.FIM().Known() {
		can = append(can, "insert")
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"modelfile": "", "parameters": "", "template": s.tok.ChatTemplate(), "details": ollamaDetails(), "modified_at": s.started.UTC().Format(time.RFC3339Nano),
		"model_info":   map[string]any{"general.architecture": "mla", "mla.context_length": s.cfg.Context, "mla.vocab_size": s.tok.VocabSize()},
		"capabilities": can,
	})
	return nil
}

// ollamaFields is the fields that chats and completions share.
type ollamaFields struct {
	Model     string      `json:"model"`
	Stream    *bool       `json:"stream"` // default: true
	Format    raw         `json:"format"` // "json" or a schema
	Options   raw         `json:"options"`
	Think     ollamaThink `json:"think"`
	KeepAlive keepAlive   `json:"keep_alive"`
	CacheSalt *string     `json:"cache_salt"` // an extension of this server
}

// ollamaThink is true, false, or an effort.
type ollamaThink struct {
	on     *bool
	effort string
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *ollamaThink) UnmarshalJSON(data []byte) error {
	var on bool
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &on) == nil:
		t.on = &on
	case json.Unmarshal(data, &t.effort) == nil:
		switch t.effort {
		case "low", "medium", "high":
			on = true
			t.on = &on
		default:
			return bad("think", "%q; expected true, false, low, medium or high", clip(t.effort, 50))
		}
	default:
		return bad("think", "expected true, false, low, medium or high")
	}
	return nil
}

// ollamaOptions is the supported options of a request. Others are ignored.
type ollamaOptions struct {
	sampling
	NumPredict *int  `json:"num_predict"`
	NumCtx     *int  `json:"num_ctx"`
	Stop       texts `json:"stop"`
}

// options reads the options.
func (f *ollamaFields) options() (o ollamaOptions, err error) {
	if !isNull(f.Options) {
		if err = decodeJSON(f.Options, &o); err != nil {
			return o, err
		}
	}
	o.CacheSalt = f.CacheSalt
	if o.NumPredict != nil && *o.NumPredict < 0 { // -1: no limit; -2: until the context is full
		o.NumPredict = nil
	}
	return o, nil
}

// format reads the format of the answer.
func (f *ollamaFields) format() (*responseFormat, error) {
	var word string
	switch {
	case isNull(f.Format):
		return nil, nil
	case f.Format[0] == '{':
		out := &responseFormat{Type: "json_schema"}
		out.Schema = f.Format
		return out, nil
	case json.Unmarshal(f.Format, &word) == nil && word == "":
		return nil, nil
	case word == "json":
		return &responseFormat{Type: "json_object"}, nil
	}
	return nil, bad("format", "%s; expected json or a schema", clip(string(f.Format), 50))
}

// salt implements salted.
func (f *ollamaFields) salt() (string, error) { return (&sampling{CacheSalt: f.CacheSalt}).salt() }

// streams says whether the answer is streamed.
func (f *ollamaFields) streams() bool { return f.Stream == nil || *f.Stream }
