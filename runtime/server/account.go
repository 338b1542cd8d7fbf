package server

import (
	"log/slog"
	"net/http"
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

// account is that of all answers.
func (s *Server) account(r *http.Request, answers []answer, n int) account {
	var u account
	for i, a := range answers {
		u.add(a.ending, i%n == 0)
	}
	u.log(r)
	return u
}
