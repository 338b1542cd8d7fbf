package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/engine/paging"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// Model is an engine's model on its device: the weights, and a pool of pages for the latent caches of all
// sessions. Sessions whose tokens begin alike share the pages of the common beginning. A Model and its
// sessions are not safe for concurrent use.
type Model struct {
	runner    device.Runner
	states    device.Stateful // the runner; nil: sessions have no states
	predictor *predictor      // nil: there is no MTP layer
	pool      *paging.Pool
	pages     int // of the pool
	sessions  []*Session
	vocab     int
	context   int
	width     int
	prompts   []int      // widths of the loaded sequences for prompts, rising
	batch     int        // rows of the widest sequence without expanded heads, if one with them is loaded; else 0
	holders   []*Session // the sessions whose rows were run last: the runner's logits are theirs
	pickers   []*Session // the sessions of the rows of the last Pick
	ahead     *Ahead     // the steps after the last Pick; nil: none
	failed    error      // an error of the runner, after which the contents of pages are unknown
	reopened  bool       // the device has failed once, see reopen
	engine    *Engine    // nil: the model was made of a runner alone
	cfg       device.Config
}

// Load brings the model to the device for cfg.Tables concurrent sessions (0: 1), with pages for all of them.
// The model must be closed before the engine.
func (e *Engine) Load(cfg device.Config) (m *Model, err error) {
	err = gguf.Guard(func() error {
		m, err = e.load(cfg)
		return err
	})
	return m, err
}

func (e *Engine) load(cfg device.Config) (*Model, error) {
	if err := e.allows(cfg); err != nil {
		return nil, err
	}
	m, err := e.model()
	if err != nil {
		return nil, err
	}
	r, err := e.device.Load(m, cfg)
	if err != nil {
		return nil, err
	}
	out, err := NewModel(r, e.bundle.Model.VocabSize, cfg)
	if err == nil {
		out.engine = e
		has := cfg // a device may have left out sequences that it cannot run
		has.Width = min(cfg.Width, r.Width())
		out.batch, out.prompts = batchOf(m, has), promptsOf(m, has)
	}
	if err == nil && e.layer != nil {
		out.predictor, err = e.layer.load(e.device, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return out, nil
}

// batchOf computes Model.batch.
func batchOf(m *device.Model, cfg device.Config) int {
	batch := 0
	for _, q := range m.Sequences(cfg) {
		if m.Bundle.HeadsBytes(q.Dispatches) > 0 {
			return batch
		}
		batch = q.Width
	}
	return 0
}

// NewModel returns a model whose runner was loaded for cfg, with a vocabulary of vocab tokens.
func NewModel(r device.Runner, vocab int, cfg device.Config) (*Model, error) {
	pages := cmp.Or(cfg.Pages, plan.Pages(cfg.Context))
	pool, err := paging.NewPool(pages)
	if err != nil {
		return nil, err
	}
	m := &Model{
		runner: r, pool: pool, pages: pages, sessions: make([]*Session, cmp.Or(cfg.Tables, 1)), vocab: vocab, context: cfg.Context,
		width: min(r.Width(), max(cfg.Width, 1)), cfg: cfg,
	}
	m.keepStates()
	return m, nil
}

// SessionsError says that as many sessions are open as the model was loaded for.
type SessionsError struct{ Sessions int }

func (e *SessionsError) Error() string {
	return fmt.Sprintf("%d sessions are open, as many as the model was loaded for; close one, or load it with more block tables", e.Sessions)
}

// NewSession opens a session without tokens. It records and allocates nothing on the device. It returns
// *SessionsError if cfg.Tables sessions are open.
func (m *Model) NewSession() (*Session, error) { return m.NewScopedSession("") }

// NewScopedSession is NewSession for a session that shares pages only with sessions of the same scope.
func (m *Model) NewScopedSession(scope string) (*Session, error) { return m.open(false, scope) }

// NewPrivateSession opens a session that shares no pages, and never finds pages, not even its own earlier
// ones. So all of its tokens are run, as benchmarks need it.
func (m *Model) NewPrivateSession() (*Session, error) { return m.open(true, "") }

func (m *Model) open(private bool, scope string) (*Session, error) {
	table := slices.Index(m.sessions, nil)
	switch {
	case m.failed != nil:
		return nil, m.failed
	case table < 0:
		return nil, &SessionsError{len(m.sessions)}
	}
	s := &Session{model: m, table: table, private: private, scope: scope}
	s.fed.from(0)
	s.begin(private)
	m.sessions[table] = s
	return s, nil
}

// forget empties all sessions and the pool, because the contents of the pages are lost.
func (m *Model) forget() error {
	pool, err := paging.NewPool(m.pages)
	if err != nil {
		return err
	}
	m.pool, m.holders, m.pickers, m.ahead = pool, nil, nil, nil
	m.keepStates()
	for _, s := range m.sessions {
		if s != nil {
			s.tokens, s.logits = nil, nil
			s.forgetState()
			s.fed.from(0)
			s.begin(s.private)
		}
	}
	return nil
}

// order executes orders of the pool on the device, in sequence.
func (m *Model) order(s *Session, o paging.Orders) error {
	for _, r := range m.runners() {
		for _, c := range o.Copies {
			if err := r.CopyRows(c.From, c.To, c.Rows); err != nil {
				return m.fail(err)
			}
		}
		if len(o.Pages) == 0 {
			continue
		}
		// Assign drops the entries after those that it gets, so it gets all of them
		if err := r.Assign(s.table, o.First, s.pages.Table()[o.First:]); err != nil {
			return m.fail(err)
		}
	}
	return nil
}

// runners lists the runners of the model and of its MTP layer, which have the same pages.
func (m *Model) runners() []device.Runner {
	if m.predictor == nil {
		return []device.Runner{m.runner}
	}
	return []device.Runner{m.runner, m.predictor}
}

// holds says whether the runner's logits belong to a session.
func (m *Model) holds(s *Session) bool { return slices.Contains(m.holders, s) }

// turn records that the runner's logits, picks and steps ahead belong to no session any more.
func (m *Model) turn() {
	for _, s := range m.holders {
		s.logits = nil
	}
	m.holders, m.pickers, m.ahead = m.holders[:0], nil, nil
}

// fail records an error of the runner. Rows that were reported as run may be missing.
func (m *Model) fail(err error) error {
	if err != nil && m.failed == nil {
		m.failed = fmt.Errorf("%w (the model has to be loaded again)", err)
	}
	return err
}

// Allows fails for tokens that cannot be a timeline; with *ContextError if they are too many.
func (m *Model) Allows(tokens []int32) error {
	if len(tokens) > m.context {
		return &ContextError{Tokens: len(tokens), Context: m.context}
	}
	return m.known(tokens)
}

func (m *Model) known(tokens []int32) error {
	for i, t := range tokens {
		if t < 0 || int(t) >= m.vocab {
			return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t, i, m.vocab)
		}
	}
	return nil
}

// Context is the greatest length of a session in tokens.
func (m *Model) Context() int { return m.context }

// Sessions is the number of sessions that can be open concurrently.
func (m *Model) Sessions() int { return len(m.sessions) }

// Pages counts the pages of the latent caches by their use.
func (m *Model) Pages() paging.Stats { return m.pool.Stats() }

// Dispatches is the number of kernel launches per token.
func (m *Model) Dispatches() int { return m.runner.Dispatches() }

// Compilation says what the device has compiled; ok is false if the device compiles nothing.
func (m *Model) Compilation() (c device.Compilation, ok bool, err error) {
	of := m.runner.Diagnostics().Compilation
	if of == nil {
		return c, false, nil
	}
	c, err = of()
	return c, true, err
}

// Bytes is the memory of the caches and buffers.
func (m *Model) Bytes() (n int64) {
	for _, r := range m.runners() {
		n += r.Bytes()
	}
	return n
}

// Close frees the caches. Open sessions cannot be used any more.
func (m *Model) Close() error {
	m.failed = errClosed
	var err error
	for _, r := range m.runners() {
		err = errors.Join(err, r.Close())
	}
	return err
}

var errClosed = errors.New("the model or the session is closed")
