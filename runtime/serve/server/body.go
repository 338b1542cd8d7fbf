package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// body is a request's, read whole, and its share of the bytes of all bodies.
type body struct {
	data   []byte
	share  *share
	waited func(time.Duration) // for memory
}

// bodiesPatience is how many times the time of a body one may wait for the memory for it.
const bodiesPatience = 10

// read reads a body within its limits. Whoever gets it frees it once its bytes, and what was
// decoded of them, are no longer needed.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*body, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &apiError{Status: http.StatusUnsupportedMediaType, Type: "invalid_request_error", Code: "encoding", Message: "a body must not be compressed"}
	}
	if r.ContentLength > s.cfg.Limits.Body {
		w.Header().Set("Connection", "close") // nobody reads it
		return nil, &http.MaxBytesError{Limit: s.cfg.Limits.Body}
	}
	// A connection that cannot have deadlines is a test's.
	rc := http.NewResponseController(w)
	deadline := time.Now().Add(s.cfg.Limits.Read)
	_ = rc.SetReadDeadline(deadline)
	ctx, cancel := context.WithTimeoutCause(r.Context(), bodiesPatience*s.cfg.Limits.Read, busyBytes())
	defer cancel()
	b := &body{share: &share{of: s.budgets.bodies}, waited: func(d time.Duration) { // that was not the client's
		deadline = deadline.Add(d)
		_ = rc.SetReadDeadline(deadline)
	}}
	err := b.fill(ctx, http.MaxBytesReader(w, r.Body, s.cfg.Limits.Body), r.ContentLength)
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // from now on, reading only tells whether the client is there
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

// fill reads to the end, for which a client has promised a number of bytes; negative: it has
// not said. Memory grows with what has come, not with what was promised.
func (b *body) fill(ctx context.Context, from io.Reader, promised int64) error {
	size := int64(smallBody)
	if promised >= 0 && promised < size {
		size = promised + 1 // so that the end is seen
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

// free gives the memory back.
func (b *body) free() {
	b.data = nil
	b.share.free()
}

// Read and Close make a body that is passed on, and freed when it has been.
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

// forgetful are requests that forget what their prompt was made of, which may be large, while
// the answer is on its way.
type forgetful interface{ forget() }

func (q *chatRequest) forget() {
	q.Messages, q.Tools, q.ToolChoice, q.ResponseFormat = nil, nil, nil, nil
}
func (q *textRequest) forget()      { q.Prompt = prompts{} }
func (q *responsesRequest) forget() { q.Input, q.Instructions = nil, "" }
func (q *messagesRequest) forget()  { q.Messages, q.System, q.Tools = nil, nil, nil }
