package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// account is the tokens that a job has used.
type account struct{ prompt, cached, generated, reasoning int }

// add counts a choice. The prompt counts once, with the first choice.
func (u *account) add(e *ending, first bool) {
	if first {
		u.prompt += e.prompt
		u.cached += min(e.result.Reused, e.prompt)
	}
	u.generated += len(e.result.Tokens)
	u.reasoning += e.reasoning
}

// log adds an account to the request's line in the log.
func (u *account) log(r *http.Request) {
	n := noted(r)
	n.used = u
	n.attrs = append(n.attrs, slog.Int("prompt", u.prompt), slog.Int("cached", u.cached), slog.Int("generated", u.generated))
}

// usedTrailer is the trailer in which a worker tells its router what a request has used.
const usedTrailer = "X-Mla-Used"

// tell writes an account as a trailer, which the header has announced.
func (u *account) tell(h http.Header) {
	if u != nil {
		h.Set(usedTrailer, fmt.Sprint(u.prompt, u.cached, u.generated))
	}
}

// told is the body of a worker's response. Its end carries the used tokens for the router's log, which the
// client does not see.
type told struct {
	io.ReadCloser
	answer *http.Response
}

// Read implements io.Reader.
func (t *told) Read(data []byte) (int, error) {
	n, err := t.ReadCloser.Read(data)
	if text := t.answer.Trailer.Get(usedTrailer); err == io.EOF && text != "" {
		t.answer.Trailer.Del(usedTrailer)
		u := &account{}
		if _, err := fmt.Sscan(text, &u.prompt, &u.cached, &u.generated); err == nil {
			u.log(t.answer.Request)
		}
	}
	return n, err
}

// settleTime is how long a failed request waits for its choices to end. They end with the current step,
// unless the device hangs.
const settleTime = 2 * time.Second

// settle ends the unfinished choices, and adds what all choices have used to the request's line in the log.
// If they do not end in time, it adds no numbers, as these would be wrong.
func (st *stream) settle(r *http.Request) {
	st.cancel()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), settleTime)
	defer cancel()
	for !st.done() {
		if _, err := st.next(ctx, settleTime); err != nil {
			return
		}
	}
	st.used.log(r)
}
