package server

import (
	"context"
	"sync"
	"time"
)

// stream is a job under way. Events wait in it for the client, which may be slow: there
// are no more of them than tokens.
type stream struct {
	cancel context.CancelFunc
	n      int     // choices of each prompt
	left   int     // choices that have not ended
	used   account // by those that have

	mu     sync.Mutex
	events []event
	more   chan struct{}
}

// push adds an event.
func (st *stream) push(e event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, e)
	select {
	case st.more <- struct{}{}:
	default:
	}
}

// next returns what has come, waiting for something no longer than a tick; then it is
// nothing. It fails with the cause of the context's end.
func (st *stream) next(ctx context.Context, tick time.Duration) ([]event, error) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		st.mu.Lock()
		events := st.events
		st.events = nil
		st.mu.Unlock()
		if len(events) > 0 {
			for _, e := range events {
				if e.end != nil {
					st.left--
					st.used.add(e.end, e.choice%st.n == 0)
				}
			}
			return events, nil
		}
		select {
		case <-st.more:
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// done says whether all choices have ended.
func (st *stream) done() bool { return st.left == 0 }
