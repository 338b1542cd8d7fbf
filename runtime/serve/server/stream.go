package server

import (
	"context"
	"sync"
	"time"
)

// stream is a job in progress. It queues events for the client, which may be slow; there are at most as many
// as tokens.
type stream struct {
	cancel context.CancelFunc
	n      int     // choices of each prompt
	left   int     // unfinished choices
	used   account // by finished choices

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

// next returns the events so far. If there are none it waits up to tick, and may then return none. It fails
// with the cause of the context's end.
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
