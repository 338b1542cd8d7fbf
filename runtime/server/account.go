package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// account is what a job has used.
type account struct{ prompt, cached, generated, reasoning int }

// add counts a choice; a prompt counts once.
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
	n.attrs = append(n.attrs, slog.Int("prompt", u.prompt), slog.Int("cached", u.cached), slog.Int("generated", u.generated))
}

// settleTime is how long a request that has failed waits for the ends of its choices: they
// come with the step under way, unless the device hangs.
const settleTime = 2 * time.Second

// settle ends what is still under way, and adds what all choices have used to the request's
// line in the log. If they do not end in time the line has no numbers, as they would be wrong.
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
