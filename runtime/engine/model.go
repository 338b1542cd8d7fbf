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

// Model is an engine's model on its device: the weights, brought there once, and a pool
// of pages for the latent caches of all sessions. Sessions whose tokens begin alike
// share the pages of what they have in common. A Model and its sessions are not safe
// for concurrent use.
type Model struct {
	runner    device.Runner
	states    device.Stateful // the runner; nil: sessions have no states
	predictor *predictor      // nil: nothing predicts
	pool      *paging.Pool
	pages     int // of the pool
	sessions  []*Session
	vocab     int
	context   int
	width     int
	prompts   []int      // widths of the sequences that are loaded for prompts, rising
	batch     int        // rows of the widest sequence without expanded heads, if one with them is loaded; else 0
	holders   []*Session // whose rows were run last: the runner's logits are theirs
	pickers   []*Session // behind whose rows, and no others, the device picked last
	ahead     *Ahead     // goes on behind the last Pick; nil: nothing does
	failed    error      // of the runner: nobody knows what the pages hold
	reopened  bool       // the device has failed once, see reopen
	engine    *Engine    // whose model it is; nil: of a runner alone
	cfg       device.Config
}

// Load brings the model to the device for cfg.Tables sessions at a time (0: 1), with
// pages for all of them together. It must be closed before the engine.
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

// batchOf is a Model's batch.
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

// NewModel is a model whose runner was loaded for cfg, with a vocabulary of so many
// tokens.
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

// NewSession opens a session without tokens. Nothing is recorded or allocated for it
// on the device. It fails with *SessionsError if there are as many as cfg.Tables.
func (m *Model) NewSession() (*Session, error) { return m.NewScopedSession("") }

// NewScopedSession is NewSession, which shares pages with sessions of the same scope only.
func (m *Model) NewScopedSession(scope string) (*Session, error) { return m.open(false, scope) }

// NewPrivateSession opens a session that shares no pages, and finds none of others or
// of what it has forgotten: whatever is asked of it is run. Benchmarks want that.
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

// forget empties all sessions and the pool, whose pages no longer hold anything.
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

// order makes the device do what the pool asks for, in that order.
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
		// Assign forgets the entries behind those that it is given, so it gets them too.
		if err := r.Assign(s.table, o.First, s.pages.Table()[o.First:]); err != nil {
			return m.fail(err)
		}
	}
	return nil
}

// runners are the model's, and that of the layer which predicts: they have the same pages.
func (m *Model) runners() []device.Runner {
	if m.predictor == nil {
		return []device.Runner{m.runner}
	}
	return []device.Runner{m.runner, m.predictor}
}

// holds says whether the runner's logits are a session's.
func (m *Model) holds(s *Session) bool { return slices.Contains(m.holders, s) }

// turn forgets whose logits and picks the runner has, and who goes on behind these.
func (m *Model) turn() {
	for _, s := range m.holders {
		s.logits = nil
	}
	m.holders, m.pickers, m.ahead = m.holders[:0], nil, nil
}

// fail remembers an error of the runner: rows that were reported as run may be missing.
func (m *Model) fail(err error) error {
	if err != nil && m.failed == nil {
		m.failed = fmt.Errorf("%w (the model has to be loaded again)", err)
	}
	return err
}

// Allows fails if a timeline cannot be tokens: with *ContextError if they are too many.
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

// Context is the greatest length of a session.
func (m *Model) Context() int { return m.context }

// Sessions is how many sessions can be open at a time.
func (m *Model) Sessions() int { return len(m.sessions) }

// Pages says where the pages of the latent caches are.
func (m *Model) Pages() paging.Stats { return m.pool.Stats() }

// Dispatches is the number of kernel launches per token.
func (m *Model) Dispatches() int { return m.runner.Dispatches() }

// Compilation is what the device has compiled; ok is false if it compiles nothing.
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

// Close frees the caches. Sessions that are still open cannot be used any more.
func (m *Model) Close() error {
	m.failed = errClosed
	var err error
	for _, r := range m.runners() {
		err = errors.Join(err, r.Close())
	}
	return err
}

var errClosed = errors.New("the model or the session is closed")
