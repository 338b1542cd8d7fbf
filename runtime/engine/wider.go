package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/device"
)

// Wider is how an engine whose activations are halves goes on where one leaves their range.
type Wider struct {
	// Open is an engine of the same open file whose activations are floats.
	Open func() (*Engine, error)
	// Begin is told that the model goes on with floats, before it is loaded; it may be nil.
	Begin func()
	// Done is told that logits are numbers again, so that halves were the reason; it may be nil.
	Done func()
}

// Widens tells the engine how it goes on with floats. A model that was loaded does so by itself:
// what its sessions have run is run again, and no caller notices.
func (e *Engine) Widens(w Wider) { e.wider = &w }

// become takes over what another engine of the file runs the model with.
func (e *Engine) become(w *Engine) {
	e.bundle, e.device, e.context, e.model, e.layer, e.wider = w.bundle, w.device, w.context, w.model, w.layer, nil
}

// narrow says whether the activations may leave their range, and there are wider ones.
func (m *Model) narrow() bool { return m.engine != nil && m.engine.wider != nil }

// overflowed says whether logits of rows are no numbers. An activation beyond the range of halves
// is infinite, and the last norm makes NaN of it everywhere: so one logit tells of all.
func overflowed(out []outcome) bool {
	return slices.ContainsFunc(out, func(o outcome) bool {
		return len(o.logits) > 0 && (!o.picked || o.token < 0) && unreal(o.logits)
	})
}

// unreal says whether logits have a NaN or +Inf in front of their first number. A mask writes -Inf.
func unreal(logits []float32) bool {
	for _, x := range logits {
		switch {
		case x != x || x > math.MaxFloat32:
			return true
		case x >= -math.MaxFloat32:
			return false
		}
	}
	return false
}

// widen runs rows again that gave no logits with halves, with floats as activations. Without such
// a model (went is false) all stays as it is, and the error about the logits says what to do.
func (m *Model) widen(rows []Row, states []*device.Sampling) (out []outcome, went bool, err error) {
	w := *m.engine.wider
	wide, err := w.Open()
	if err != nil {
		m.engine.wider = nil
		return nil, false, nil
	}
	if w.Begin != nil {
		w.Begin()
	}
	m.engine.become(wide)
	if err := m.reload(); err != nil {
		return nil, true, m.fail(fmt.Errorf("an activation has left the range of halves, and the model does not go on with f32: %w", err))
	}
	out, err = m.replay(rows, states)
	if err == nil && !overflowed(out) && w.Done != nil {
		w.Done()
	}
	return out, true, err
}

// reload replaces what runs the model. The old runner goes first: a device may not hold both.
func (m *Model) reload() error {
	var texts [][]int32
	for _, s := range m.sessions {
		if texts = append(texts, nil); s != nil {
			texts[s.table] = slices.Clone(s.tokens)
		}
	}
	var err error
	for _, r := range m.runners() {
		err = errors.Join(err, r.Close())
	}
	if m.runner, m.predictor = (closedRunner{}), nil; err != nil {
		return err
	}
	m.cfg.Progress = nil
	fresh, err := m.engine.Load(m.cfg)
	if err != nil {
		return err
	}
	m.runner, m.predictor, m.width, m.prompts, m.batch = fresh.runner, fresh.predictor, fresh.width, fresh.prompts, fresh.batch
	if err := m.forget(); err != nil {
		return err
	}
	for i, s := range m.sessions {
		if s == nil || len(texts[i]) == 0 {
			continue
		}
		if err := s.rerun(texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// rerun makes the timeline of a session that was emptied what it was.
func (s *Session) rerun(tokens []int32) error {
	if s.pretends {
		return s.FillForBench(tokens)
	}
	if _, err := s.Reuse(tokens); err != nil {
		return err
	}
	for len(s.tokens) < len(tokens) {
		rest := tokens[len(s.tokens):]
		if err := s.runAll(rest[:s.model.piece(len(rest))], false); err != nil {
			return err
		}
	}
	return nil
}

// closedRunner stands for a runner that was closed, and not followed by another.
type closedRunner struct{ device.Runner }

func (closedRunner) Close() error                    { return nil }
func (closedRunner) Bytes() int64                    { return 0 }
func (closedRunner) Dispatches() int                 { return 0 }
func (closedRunner) Diagnostics() device.Diagnostics { return device.Diagnostics{} }
