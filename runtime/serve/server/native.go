package server

import (
	"net/http"
	"time"
	"unicode/utf8"

	"mla/runtime/serve/completion"
	"mla/runtime/text/tokenizer"
)

// Endpoints that only llama-server has.

// health serves GET /health: 200 if requests can run, else 503 with the reason.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	st := s.cfg.Service.Stats()
	if st.State == completion.Ready {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
		return nil
	}
	return &completion.UnavailableError{State: st.State, Cause: st.Cause}
}

// tokenize serves POST /tokenize.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Content    mixed `json:"content"`
		AddSpecial bool  `json:"add_special"`
		Special    *bool `json:"parse_special"`
		Pieces     bool  `json:"with_pieces"`
	}
	share, err := s.decode(w, r, &q)
	if err != nil {
		return err
	}
	defer share.free()
	ids, err := q.Content.encode(s, tokenizer.EncodeOptions{AddBOS: q.AddSpecial, AddEOS: q.AddSpecial, ParseSpecial: q.Special == nil || *q.Special})
	if err != nil {
		return err
	}
	if !s.known([][]int32{ids}) {
		return bad("content", "a token is outside the vocabulary of %d", s.tok.VocabSize())
	}
	if !q.Pieces {
		writeJSON(w, http.StatusOK, map[string]any{"tokens": append([]int32{}, ids...)})
		return nil
	}
	type piece struct {
		ID    int32 `json:"id"`
		Piece any   `json:"piece"`
	}
	list := make([]piece, len(ids))
	for i, id := range ids {
		list[i] = piece{id, pieceOf(s.tokenBytes(id))}
	}
	writeJSON(w, http.StatusOK, map[string]any{"tokens": list})
	return nil
}

// pieceOf is the text of a token, or its bytes if they are not whole characters.
func pieceOf(spelt []byte) any {
	if utf8.Valid(spelt) {
		return string(spelt)
	}
	return numbers(spelt)
}

// detokenize serves POST /detokenize.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Tokens tokenList `json:"tokens"`
	}
	share, err := s.decode(w, r, &q)
	if err != nil {
		return err
	}
	defer share.free()
	for i, id := range q.Tokens {
		if id < 0 || int(id) >= s.tok.VocabSize() {
			return bad("tokens", "token %d is %d; the vocabulary has %d", i, id, s.tok.VocabSize())
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"content": s.tok.Decode(q.Tokens)})
	return nil
}

// applyTemplate serves POST /apply-template: it renders a chat.
func (s *Server) applyTemplate(w http.ResponseWriter, r *http.Request) error {
	var q chatRequest
	text, share, err := s.renderRequest(w, r, &q)
	if err != nil {
		return err
	}
	defer share.free()
	writeJSON(w, http.StatusOK, map[string]any{"prompt": tokenizer.Unescape(text.text)})
	return nil
}

// props serves GET /props.
func (s *Server) props(w http.ResponseWriter, _ *http.Request) error {
	format := ""
	if s.format != nil {
		format = s.format.Name
	}
	settings := settingsOf(&s.cfg.Sampling)
	if !s.cfg.FixedSeed {
		settings["seed"] = randomSeed
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"model_alias": s.cfg.Model, "model_path": s.cfg.File, "total_slots": s.cfg.Service.Stats().Sessions, "build_info": s.cfg.Version,
		"chat_template": s.tok.ChatTemplate(), "chat_format": s.cfg.Chat.Name(), "tool_format": format,
		"default_generation_settings": map[string]any{"n_ctx": s.cfg.Context, "params": settings},
	})
	return nil
}

// slots serves GET /slots: the sessions and their requests. Waiting requests are in none.
func (s *Server) slots(w http.ResponseWriter, _ *http.Request) error {
	requests := s.cfg.Service.Requests() // the oldest requests are running
	list := make([]map[string]any, s.cfg.Service.Stats().Sessions)
	for i := range list {
		list[i] = map[string]any{"id": i, "n_ctx": s.cfg.Context, "is_processing": i < len(requests)}
		if i < len(requests) {
			q := requests[i]
			list[i]["id_task"], list[i]["n_prompt"], list[i]["n_decoded"], list[i]["seconds"] = q.ID, q.Prompt, q.Tokens, time.Since(q.Since).Seconds()
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
