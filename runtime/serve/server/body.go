package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// body is the complete body of a request, with its share of the memory for all bodies.
type body struct {
	data   []byte
	share  *share
	waited func(time.Duration) // called with the time spent waiting for memory
}

// bodiesPatience is how many times its reading time a body may wait for memory.
const bodiesPatience = 10

// read reads a body within the limits. The caller must free it once the bytes, and values decoded from them,
// are no longer needed.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*body, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &apiError{Status: http.StatusUnsupportedMediaType, Type: "invalid_request_error", Code: "encoding", Message: "a body must not be compressed"}
	}
	if r.ContentLength > s.cfg.Limits.Body {
		w.Header().Set("Connection", "close") // the rest of the body will not be read
		return nil, &http.MaxBytesError{Limit: s.cfg.Limits.Body}
	}
	// Only a test's connection has no deadlines.
	rc := http.NewResponseController(w)
	deadline := time.Now().Add(s.cfg.Limits.Read)
	_ = rc.SetReadDeadline(deadline)
	ctx, cancel := context.WithTimeoutCause(r.Context(), bodiesPatience*s.cfg.Limits.Read, busyBytes())
	defer cancel()
	b := &body{share: &share{of: s.budgets.bodies}, waited: func(d time.Duration) { // the client did not cause this wait
		deadline = deadline.Add(d)
		_ = rc.SetReadDeadline(deadline)
	}}
	err := b.fill(ctx, http.MaxBytesReader(w, r.Body, s.cfg.Limits.Body), r.ContentLength)
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // later reads only detect whether the client has disconnected
		return b, nil
	}
	b.free()
	var large *http.MaxBytesError
	var known *apiError
	switch {
	case errors.As(err, &large) || errors.As(err, &known):
		return nil, err
	case r.Context().Err() != nil:
		return nil, gone("the client is gone: " + err.Error())
	}
	return nil, &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "body", Message: "the body did not come: " + err.Error()}
}

// fill reads all bytes; promised is the Content-Length, negative if unknown. Memory grows with the bytes
// received, not with the promised length.
func (b *body) fill(ctx context.Context, from io.Reader, promised int64) error {
	size := int64(smallBody)
	if promised >= 0 && promised < size {
		size = promised + 1 // one more, to see the end
	}
	b.data = make([]byte, 0, size)
	for {
		n, err := from.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(b.data) < cap(b.data):
			continue
		}
		more := 2 * int64(cap(b.data))
		if promised >= int64(len(b.data)) {
			more = min(more, promised+1)
		}
		since := time.Now()
		if err := b.share.take(ctx, more-b.share.used); err != nil {
			return err
		}
		b.waited(time.Since(since))
		grown := make([]byte, len(b.data), more)
		copy(grown, b.data)
		b.data = grown
	}
}

// free releases the memory.
func (b *body) free() {
	b.data = nil
	b.share.free()
}

// passing is a body that is forwarded, and freed when it is closed.
type passing struct {
	io.Reader
	body *body
}

// Close implements io.Closer.
func (p *passing) Close() error {
	p.Reader = http.NoBody
	p.body.free()
	return nil
}

// forgetful is a request that can drop its prompt's sources, which may be large, while the answer is being
// generated.
type forgetful interface{ forget() }

func (q *chatRequest) forget() {
	q.Messages, q.Tools, q.ToolChoice, q.ResponseFormat = nil, nil, nil, nil
}
func (q *textRequest) forget()      { q.Prompt = prompts{} }
func (q *responsesRequest) forget() { q.Input, q.Instructions = nil, "" }
func (q *messagesRequest) forget()  { q.Messages, q.System, q.Tools = nil, nil, nil }
