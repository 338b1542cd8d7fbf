package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/engine/nextn"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
)

// layer is an MTP layer of a file, and the bundle that runs it.
type layer struct {
	*bind.Resolved
	bundle *plan.Bundle
}

// Predict gives the engine the MTP layer of a file, which bundle b runs: of the engine's own file, or of
// another one, which the engine closes. Models that are loaded afterwards can draft with it; see
// Session.Predictor.
func (e *Engine) Predict(r *bind.Resolved, b *plan.Bundle) error {
	m, own := &e.bundle.Model, &b.Model
	switch {
	case own.NextN != m.NumHiddenLayers || own.HiddenSize != m.HiddenSize || own.VocabSize != m.VocabSize || own.MaxPositionEmbeddings < e.context:
		return fmt.Errorf("bundle %s is for layer %d of models of %d × %d and %d positions; %s has %d layers, %d × %d and %d positions", b.Name,
			own.NextN, own.HiddenSize, own.VocabSize, own.MaxPositionEmbeddings, e.bundle.Name, m.NumHiddenLayers, m.HiddenSize, m.VocabSize, e.context)
	case e.bundle.Decode().Hidden == nil:
		return fmt.Errorf("bundle %s keeps no hidden states to predict by; to make one that does: %s", e.bundle.Name, bind.Command(e.resolved.File.Path, e.bundle.Act()))
	}
	e.layer = &layer{r, b}
	return nil
}

// load brings the layer to the device, for the same sessions and pages as the model.
func (l *layer) load(d device.Device, cfg device.Config) (*predictor, error) {
	m, err := l.Bind(l.bundle)
	if err != nil {
		return nil, err
	}
	join, err := nextn.New(l.Resolved, l.bundle)
	if err != nil {
		return nil, err
	}
	r, err := d.Load(m, cfg)
	if err != nil {
		return nil, err
	}
	runner, ok := r.(device.Vectored)
	if !ok {
		return nil, errors.Join(fmt.Errorf("device %s has no way to a layer that predicts", d.Name()), r.Close())
	}
	return &predictor{runner, join}, nil
}

// joiner computes inputs of the MTP layer; see nextn.Joiner.
type joiner interface {
	Dim() int
	Model(x []float32)
	Own(x []float32)
	Inputs(dst []float32, tokens []int32, hidden [][]float32) error
}

// predictor is an MTP layer on its device. Its cache has the same pages as the model's: pages are copied,
// shared and freed together.
type predictor struct {
	device.Vectored
	join joiner
}

// fed is how many of a session's tokens the MTP layer has run: its cache has the rows of positions before n.
// The row of a position takes the token there and the hidden state of the position before. So the layer can
// run it as soon as the token is known, before the model does.
type fed struct {
	n int
	// states is the model's hidden states from position n-1 on, one more than there are tokens from n on. nil
	// stands for an unknown state, because another session has run the row, and for the state before position
	// 0.
	states [][]float32
	before []float32 // the hidden state that the last row was run with; nil: unknown
	token  int32     // token of the last row
}

// from drops everything after the first n tokens.
func (f *fed) from(tokens int) {
	if tokens < f.n || len(f.states) < tokens-f.n+1 {
		state := f.before
		if tokens != f.n-1 {
			state = nil
		}
		*f = fed{n: tokens, states: [][]float32{state}} // in new memory, so that the memory of dropped states is freed
		return
	}
	f.states = f.states[:tokens-f.n+1]
}

// missed handles tokens whose hidden states were not kept, because a device ran them ahead. The layer runs
// them without states if it drafts for this session: drafts are better with such rows than with none.
func (s *Session) missed() {
	if !s.predicted || len(s.fed.states) > len(s.tokens)-s.fed.n+1 {
		s.fed.from(len(s.tokens))
		return
	}
	for len(s.fed.states) < len(s.tokens)-s.fed.n+1 {
		s.fed.states = append(s.fed.states, nil)
	}
}

// hidden returns the hidden states after the last norm of the rows that the model has just run; nil without
// an MTP layer.
func (m *Model) hidden(rows []Row) ([]float32, error) {
	if m.predictor == nil || !slices.ContainsFunc(rows, func(r Row) bool { return !r.Session.resting }) {
		return nil, nil
	}
	x := make([]float32, len(rows)*m.predictor.join.Dim())
	if err := m.runner.(device.Vectored).Hidden(x); err != nil {
		return nil, err
	}
	m.predictor.join.Model(x)
	return x, nil
}

// keep keeps the hidden state of the session's next row. It runs the layer once there are enough rows for its
// widest sequence.
func (s *Session) keep(token int32, hidden []float32) error {
	if s.model.predictor == nil {
		return nil
	}
	if len(s.tokens) < s.fed.n && (len(s.tokens)+1 != s.fed.n || s.fed.token != token) {
		s.fed.from(len(s.tokens)) // another token than the first draft
	}
	s.fed.states = append(s.fed.states, hidden)
	if len(s.fed.states) < s.model.predictor.Width()+2 {
		return nil
	}
	return s.model.fail(s.feed())
}

// feed runs the rows that the layer has not run, and those of next. The result of the last row stays in the
// predictor's runner.
func (s *Session) feed(next ...int32) error {
	_, err := s.predict(next, false)
	return err
}

// feedOn runs a session's rows before other sessions can find its pages. Rows that the session misses during
// a pause are left out.
func (s *Session) feedOn() error {
	switch {
	case s.model.predictor == nil || s.model.failed != nil:
		return nil
	case s.resting:
		s.fed.from(len(s.tokens))
		return nil
	}
	return s.model.fail(s.feed())
}

// feedAll runs the rows of all sessions, so that other sessions find them with their pages.
func (m *Model) feedAll() error {
	for _, s := range m.sessions {
		if s != nil {
			if err := s.feedOn(); err != nil {
				return err
			}
		}
	}
	return nil
}

// predict is feed; if wanted is set, it picks the most likely token after the last row.
func (s *Session) predict(next []int32, wanted bool) (picked int32, err error) {
	return s.follow(slices.Concat(s.tokens[min(s.fed.n, len(s.tokens)):], next), wanted)
}

// follow runs tokens after those that the layer has run.
func (s *Session) follow(tokens []int32, wanted bool) (picked int32, err error) {
	p := s.model.predictor
	for len(tokens) > 0 {
		n := min(len(tokens), p.Width())
		if picked, err = p.run(s.place(s.fed.n), tokens[:n], s.fed.states[:n], wanted && n == len(tokens)); err != nil {
			return 0, err
		}
		s.fed = fed{s.fed.n + n, s.fed.states[n:], s.fed.states[n-1], tokens[n-1]}
		tokens = tokens[n:]
	}
	return picked, nil
}

// place is the row of a position, without a token.
func (s *Session) place(pos int) plan.Row {
	return plan.Row{Pos: uint32(pos), NKV: uint32(pos) + 1, Table: uint32(s.table)}
}

// run runs tokens, with the hidden states before them, from a place on. If wanted is set, it picks the most
// likely token after the last one.
func (p *predictor) run(at plan.Row, tokens []int32, hidden [][]float32, wanted bool) (int32, error) {
	input := make([]float32, 2*p.join.Dim()*len(tokens))
	if err := p.join.Inputs(input, tokens, hidden); err != nil {
		return 0, err
	}
	rows := make([]plan.Row, len(tokens))
	for i, t := range tokens {
		rows[i] = at
		rows[i].Token = uint32(t)
		at.Pos, at.NKV = at.Pos+1, at.NKV+1
	}
	if err := p.SetInput(input); err != nil {
		return 0, err
	}
	if !wanted {
		_, err := p.Replay(rows, nil)
		return 0, err
	}
	last := len(rows) - 1
	if d, ok := p.Vectored.(device.Picker); ok {
		greedy := plan.Sampling{TopP: plan.SampleTopPOff, RepeatPenalty: 1, InvRepeatPenalty: 1}
		picked, err := d.Pick(rows, []device.Pick{{Row: last, Sampling: greedy}})
		if err == nil {
			return picked[0], nil
		}
		if !errors.Is(err, device.ErrSampling) {
			return 0, err
		}
	}
	logits, err := p.Replay(rows, []int{last})
	if err != nil {
		return 0, err
	}
	return int32(slices.Index(logits, slices.MaxFunc(logits, cmp.Compare[float32]))), nil
}

// own is the hidden state of the layer for the last of a number of rows.
func (p *predictor) own(rows int) ([]float32, error) {
	x := make([]float32, rows*p.join.Dim())
	if err := p.Hidden(x); err != nil {
		return nil, err
	}
	x = x[(rows-1)*p.join.Dim():]
	p.join.Own(x)
	return x, nil
}

// maxPredicted is the most tokens that the layer drafts at a time. Each draft takes a replay of the layer,
// and can be accepted only if all drafts before it are.
const maxPredicted = 4

// predicted drafts with the MTP layer. It chooses the number of drafts by how many of the last ones were
// accepted.
type predicted struct {
	session *Session
	length  int     // of the next drafts
	text    int     // tokens before the last drafts
	last    []int32 // the last drafts
}

// Predictor returns a drafter for this session that uses the model's MTP layer. It fails if the engine has
// none (Engine.Predict).
func (s *Session) Predictor() (Drafter, error) {
	if s.model.predictor == nil {
		return nil, errors.New("the model was loaded without a layer that predicts")
	}
	if s.resting { // set for the text before; the hidden states of the next prompt are kept
		s.fed.from(len(s.tokens))
	}
	s.predicted, s.resting = true, false
	return &predicted{session: s, length: maxPredicted / 2}, nil
}

// Missed implements Following. The few tokens since the last draft are run with the next one.
func (p *predicted) Missed() int {
	if n := len(p.session.tokens) - p.session.fed.n; n > plan.DefaultBatch {
		return n
	}
	return 0
}

// CatchUp implements Following.
func (p *predicted) CatchUp(n int) {
	s := p.session
	if s.model.failed == nil {
		_, err := s.follow(s.tokens[s.fed.n:][:n], false)
		_ = s.model.fail(err) // the next Propose drafts nothing
	}
}

// Rest implements Following.
func (p *predicted) Rest(rests bool) { p.session.resting = rests }

// Propose implements Drafter. text is the session's timeline and the token after it. If the device fails, it
// returns no drafts; the next call that runs the model reports the error.
func (p *predicted) Propose(text []int32, n int) []int32 {
	p.learn(text)
	s, n := p.session, min(n, p.length)
	if n < 1 || s.Reserve(n) != nil {
		return nil
	}
	out, err := s.draft(text[len(text)-1], n)
	if s.model.fail(err) != nil {
		return nil
	}
	p.text, p.last = len(text), slices.Clone(out)
	return out
}

// learn drafts more tokens if all were accepted, and fewer if one was not.
func (p *predicted) learn(text []int32) {
	if len(p.last) == 0 || len(text) <= p.text {
		return
	}
	if right := text[p.text:]; len(right) > len(p.last) && slices.Equal(right[:len(p.last)], p.last) {
		p.length = min(p.length+1, maxPredicted)
	} else {
		p.length = max(p.length-1, 1)
	}
	p.last = nil
}

// draft drafts n tokens after a token that follows the timeline. The timeline must have pages for the token
// and all drafts but the last.
func (s *Session) draft(token int32, n int) (out []int32, err error) {
	if s.fed.n > len(s.tokens) {
		s.fed.from(len(s.tokens)) // the draft that the layer was fed was not accepted
	}
	p, rows := s.model.predictor, (len(s.tokens)-s.fed.n)%s.model.predictor.Width()+1
	token, err = s.predict([]int32{token}, true)
	if err != nil {
		return nil, err
	}
	for at := len(s.tokens) + 1; ; at++ {
		if token < 0 {
			return out, nil // no token was possible
		}
		if out = append(out, token); len(out) == n {
			return out, nil
		}
		hidden, err := p.own(rows)
		if err != nil {
			return nil, err
		}
		rows = 1
		if token, err = p.run(s.place(at), []int32{token}, [][]float32{hidden}, true); err != nil {
			return nil, err
		}
	}
}
