package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// budget is the bytes that all requests may hold together. One request at a time may exceed it: so requests
// that hold a part and need more cannot deadlock.
type budget struct {
	total int64

	mu    sync.Mutex
	used  int64
	over  *share        // the share that may exceed the budget; nil: none
	freed chan struct{} // closed when bytes are released
}

func newBudget(total int64) *budget { return &budget{total: total, freed: make(chan struct{})} }

// share is the bytes that one request holds.
type share struct {
	of   *budget
	used int64
}

// take takes n more bytes, and waits until they are available.
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

// try takes n bytes, or returns a channel that closes when other requests release some.
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

// free releases all bytes. It may be called repeatedly.
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

// budgets is the budgets of a server.
type budgets struct {
	bodies *budget // for bodies, from their arrival until their prompt is complete
	texts  *budget // for texts that are being tokenised
}

// Sizes of budgets. A body takes a few times its bytes while it is decoded and rendered by the model's
// template. A text takes some thirty times its bytes while it is tokenised.
const (
	bodiesBytes = 64 << 20
	textsBytes  = 2 << 20
	// smallBody is the largest body that is read without waiting for memory.
	smallBody = 64 << 10
)

func newBudgets() budgets { return budgets{newBudget(bodiesBytes), newBudget(textsBytes)} }

// busyBytes is the error for a body for which there was no memory in time.
func busyBytes() error {
	return &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: "bodies", retryAfter: time.Second,
		Message: "the server is at other large requests; try again"}
}
