package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// budget is bytes that all requests together may hold at a time. One request at a time may
// hold more: so those that hold a part each, and need more, never wait for each other for
// ever.
type budget struct {
	total int64

	mu    sync.Mutex
	used  int64
	over  *share        // the one that may hold more; nil: none
	freed chan struct{} // closed when bytes are given back
}

func newBudget(total int64) *budget { return &budget{total: total, freed: make(chan struct{})} }

// share is what one request holds.
type share struct {
	of   *budget
	used int64
}

// take takes n more bytes, and waits until there are as many.
func (s *share) take(ctx context.Context, n int64) error {
	for {
		wait := s.try(n)
		if wait == nil {
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try takes n bytes; else it returns what is closed once others have given some back.
func (s *share) try(n int64) (wait <-chan struct{}) {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.total && b.over != s {
		if b.over != nil {
			return b.freed
		}
		b.over = s
	}
	b.used += n
	s.used += n
	return nil
}

// free gives all bytes back. It may be called again.
func (s *share) free() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= s.used
	s.used = 0
	if b.over == s {
		b.over = nil
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// budgets are those of a server.
type budgets struct {
	bodies *budget // of bodies from when they come until their prompt is known
	texts  *budget // that are made tokens of
}

// Sizes of budgets. A body takes a few times its bytes while it is decoded and written as the
// model's template wants it, and a text some thirty times its bytes while it becomes tokens.
const (
	bodiesBytes = 64 << 20
	textsBytes  = 2 << 20
	// smallBody is the most bytes of a body that nobody waits for.
	smallBody = 64 << 10
)

func newBudgets() budgets { return budgets{newBudget(bodiesBytes), newBudget(textsBytes)} }

// busyBytes is the error of a body for which there is no memory in time.
func busyBytes() error {
	return &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: "bodies", retryAfter: time.Second,
		Message: "the server is at other large requests; try again"}
}
