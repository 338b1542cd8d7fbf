// Package fleet runs servers of several models, each in a worker process with memory of its own. A worker is
// started when a request names its model. It is stopped when the model has not been used for a while, or when
// another model needs the memory. So an unused model takes no memory, and a crash affects one model only.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Model is a model that can be served.
type Model struct {
	Name  string
	Bytes int64 // memory that it takes when loaded
}

// Config is the models, and the limits on loaded ones.
type Config struct {
	Models []Model
	Memory int64         // bytes that all loaded models may take together; 0: no limit
	Idle   time.Duration // time after which an unused model is unloaded, unless Keep changes it; 0: never
	// Run runs the worker of a model until ctx is done. It calls ready with the worker's address once the
	// worker can answer.
	Run func(ctx context.Context, m Model, ready func(address string)) error
	Log *slog.Logger
}

// UnknownError says that there is no such model.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no model %q", e.Name) }

// Fleet is the workers. Its methods are safe for concurrent use.
type Fleet struct {
	cfg     Config
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	workers map[string]*worker
	changed chan struct{} // closed when a worker ends or becomes unused
}

// worker is a worker between its start and its end.
type worker struct {
	Model
	cancel   context.CancelFunc
	ready    chan struct{} // closed once address is set
	ended    chan struct{} // closed once err is set
	address  string
	err      error
	users    int
	used     time.Time     // when the last user left
	keep     time.Duration // time that it stays without a user; negative: unlimited
	stopping bool
}

// New returns a fleet without loaded models.
func New(cfg Config) *Fleet {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{cfg: cfg, workers: map[string]*worker{}, changed: make(chan struct{})}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Close stops all workers, and waits for them to end.
func (f *Fleet) Close() {
	f.stop()
	f.running.Wait()
}

// Models are all that can be served.
func (f *Fleet) Models() []Model { return f.cfg.Models }

// Loaded is the names and addresses of the models that can answer now.
func (f *Fleet) Loaded() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := map[string]string{}
	for name, w := range f.workers {
		if w.address != "" && !w.stopping {
			list[name] = w.address
		}
	}
	return list
}

// Acquire returns the address of a model's worker, which it starts if necessary, and which stays until
// release. It waits until there is memory for it. It fails with *UnknownError, with the cause of the
// context's end, or with the reason for which the worker did not start.
func (f *Fleet) Acquire(ctx context.Context, name string) (address string, release func(), err error) {
	at := slices.IndexFunc(f.cfg.Models, func(m Model) bool { return m.Name == name })
	if at < 0 {
		return "", nil, &UnknownError{name}
	}
	w, err := f.use(ctx, f.cfg.Models[at])
	if err != nil {
		return "", nil, err
	}
	select {
	case <-w.ready:
		return w.address, func() { f.release(w) }, nil
	case <-w.ended:
		err = fmt.Errorf("the model %s could not be loaded: %w", name, w.err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	f.release(w)
	return "", nil, err
}

// use adds a user to the worker of a model.
func (f *Fleet) use(ctx context.Context, m Model) (*worker, error) {
	for {
		w, wait := f.tryUse(m)
		if w != nil {
			return w, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-f.ctx.Done():
			return nil, errors.New("the server is shutting down")
		}
	}
}

// tryUse is use if no wait is necessary; else it returns a channel that closes when to try again. It stops
// the least recently used models to make room.
func (f *Fleet) tryUse(m Model) (*worker, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.workers[m.Name]; w != nil {
		if w.stopping {
			return nil, f.changed
		}
		w.users++
		return w, nil
	}
	taken := int64(0)
	var idle []*worker
	for _, w := range f.workers {
		taken += w.Bytes
		if w.users == 0 && !w.stopping {
			idle = append(idle, w)
		}
	}
	// A model above the limit runs alone: its worker reports what does not fit.
	if f.cfg.Memory == 0 || taken+m.Bytes <= f.cfg.Memory || len(f.workers) == 0 {
		return f.start(m), nil
	}
	slices.SortFunc(idle, func(a, b *worker) int { return a.used.Compare(b.used) })
	for _, w := range f.workers {
		if w.stopping {
			taken -= w.Bytes
		}
	}
	for _, w := range idle {
		if taken+m.Bytes <= f.cfg.Memory {
			break
		}
		f.end(w, "its memory is needed")
		taken -= w.Bytes
	}
	return nil, f.changed
}

// start starts a worker with one user.
func (f *Fleet) start(m Model) *worker {
	ctx, cancel := context.WithCancel(f.ctx)
	w := &worker{Model: m, cancel: cancel, ready: make(chan struct{}), ended: make(chan struct{}), users: 1, keep: f.cfg.Idle}
	if w.keep == 0 {
		w.keep = -1
	}
	f.workers[m.Name] = w
	f.cfg.Log.Info("loading", "model", m.Name, "bytes", m.Bytes)
	f.running.Go(func() {
		begin := time.Now()
		err := f.cfg.Run(ctx, m, func(address string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if w.address == "" {
				w.address = address
				close(w.ready)
				f.cfg.Log.Info("loaded", "model", m.Name, "took", time.Since(begin))
			}
		})
		stopped := ctx.Err() != nil
		cancel()
		if w.err = err; err == nil {
			w.err = errors.New("its server has ended")
		}
		if !stopped {
			f.cfg.Log.Error("a model's server has ended", "model", m.Name, "error", w.err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.workers, m.Name)
		close(w.ended)
		f.tell()
	})
	return w
}

// release removes a user.
func (f *Fleet) release(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.users--; w.users > 0 {
		return
	}
	w.used = time.Now()
	f.tell()
	switch {
	case w.keep == 0 && !w.stopping:
		f.end(w, "its last user has said so")
	case w.keep > 0:
		time.AfterFunc(w.keep, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if w.users == 0 && !w.stopping && w.keep >= 0 && time.Since(w.used) >= w.keep {
				f.end(w, "nobody uses it")
			}
		})
	}
}

// Keep sets how long the worker of a model stays without a user, from now on; 0: not at all, negative: until
// its memory is needed. The caller must be one of its users.
func (f *Fleet) Keep(name string, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.workers[name]; w != nil {
		w.keep = d
	}
}

// end stops a worker. It remains in workers, with its memory, until it has ended.
func (f *Fleet) end(w *worker, why string) {
	f.cfg.Log.Info("unloading", "model", w.Name, "why", why)
	w.stopping = true
	w.cancel()
}

// tell wakes the waiting callers.
func (f *Fleet) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}
