package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/device"
)

// Wider is how an engine with activations of halves continues when one exceeds their range.
type Wider struct {
	// Open opens an engine with activations of floats for the same open file.
	Open func() (*Engine, error)
	// Begin is called before the model with floats is loaded; it may be nil.
	Begin func()
	// Done is called once logits are numbers again, which shows that halves were the cause; it may be nil.
	Done func()
}

// Widens tells the engine how to continue with floats. A loaded model then does so by itself: it runs the
// tokens of its sessions again, and callers do not notice.
func (e *Engine) Widens(w Wider) { e.wider = &w }

// become takes over the bundle and bindings of another engine of the same file.
func (e *Engine) become(w *Engine) {
	e.bundle, e.device, e.context, e.model, e.layer, e.wider = w.bundle, w.device, w.context, w.model, w.layer, nil
}

// narrow says whether activations may exceed their range, and a wider type is available.
func (m *Model) narrow() bool { return m.engine != nil && m.engine.wider != nil }

// overflowed says whether logits of rows are not numbers. An activation outside the range of halves is
// infinite, and the last norm then makes every element NaN: so one logit per row is enough to tell.
func overflowed(out []outcome) bool {
	return slices.ContainsFunc(out, func(o outcome) bool {
		return len(o.logits) > 0 && (!o.picked || o.token < 0) && unreal(o.logits)
	})
}

// unreal says whether logits have a NaN or +Inf before their first number. Masked tokens have -Inf.
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

// widen runs rows again, with floats as activations, after they gave no logits with halves. If there is no
// such model (went is false), nothing changes, and the error about the logits says what to do.
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

// reload replaces the model's runner. The old one is closed first, as a device may not have memory for both.
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

// rerun runs the tokens of an emptied session again.
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

// closedRunner stands for a runner that was closed and has no successor.
type closedRunner struct{ device.Runner }

func (closedRunner) Close() error                    { return nil }
func (closedRunner) Bytes() int64                    { return 0 }
func (closedRunner) Dispatches() int                 { return 0 }
func (closedRunner) Diagnostics() device.Diagnostics { return device.Diagnostics{} }
