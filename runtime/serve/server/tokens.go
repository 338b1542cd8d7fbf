package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"mla/runtime/engine"
	"mla/runtime/text/tokenizer"
)

// exactBytes is the longest text in bytes that is tokenised even if it is too long, so that the client learns
// its exact number of tokens.
const exactBytes = 256 << 10

// tokens tokenises a text. A text that cannot fit the context is not tokenised, which would take many times
// its memory; the error then has a lower bound of the number of tokens.
func (s *Server) tokens(text string, opts tokenizer.EncodeOptions) ([]int32, error) {
	if len(text) > exactBytes {
		if n := s.tok.AtLeast(text, opts, s.cfg.Context); n > s.cfg.Context {
			return nil, &engine.ContextError{Tokens: n, Context: s.cfg.Context}
		}
	}
	share := &share{of: s.budgets.texts}
	defer share.free()
	// This waits for other requests that tokenise, which end by themselves.
	if err := share.take(context.Background(), int64(len(text))); err != nil {
		return nil, err
	}
	return s.tok.Encode(text, opts), nil
}

// tokenList is a list of tokens, of limited length.
type tokenList []int32

// maxListed is the most tokens of a list, more than any context has.
const maxListed = 4 << 20

// UnmarshalJSON implements json.Unmarshaler.
func (l *tokenList) UnmarshalJSON(data []byte) error {
	n := bytes.Count(data, []byte{','}) + 1
	if n > maxListed {
		return bad("tokens", "more than %d", maxListed)
	}
	list := make([]int32, 0, n)
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*l = list
	return nil
}

// countRequest answers with the number of tokens of a request's prompt.
func (s *Server) countRequest(w http.ResponseWriter, r *http.Request, q interface {
	conversation(*Server) (*conversation, error)
}, answer func(n int) any) error {
	text, share, err := s.renderRequest(w, r, q)
	if err != nil {
		return err
	}
	defer share.free()
	ids, err := s.encode(text)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer(len(ids)))
	return nil
}

// chatTokens serves llama-server's POST /v1/chat/completions/input_tokens.
func (s *Server) chatTokens(w http.ResponseWriter, r *http.Request) error {
	return s.countRequest(w, r, &chatRequest{}, func(n int) any {
		return map[string]any{"object": "chat.completion.input_tokens", "input_tokens": n}
	})
}

// responsesTokens serves OpenAI's POST /v1/responses/input_tokens.
func (s *Server) responsesTokens(w http.ResponseWriter, r *http.Request) error {
	return s.countRequest(w, r, &responsesRequest{}, func(n int) any {
		return map[string]any{"object": "response.input_tokens", "input_tokens": n}
	})
}
