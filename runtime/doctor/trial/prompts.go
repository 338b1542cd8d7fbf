package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// sideBySide is how many sessions run one token each: more than the rows of a batch.
func (s *Subject) sideBySide() int { return s.Bundle.BatchRows() + 4 }

// Prompts compares the logits after a long prompt, and those of tokens of many sessions side by side, with
// the CPU's. Neither single kernels nor the first tokens of a text exercise these paths.
func (s *Subject) Prompts() error {
	var logits [2][][]float32
	for i, d := range []device.Device{s.GPU, s.CPU} {
		s.Write(checkup.Now, fmt.Sprintf("a prompt of %d tokens on %s", promptTokens, d.Name()), "")
		var err error
		if logits[i], err = s.prompts(d); err != nil {
			return err
		}
	}
	for i, what := range []string{fmt.Sprintf("a prompt of %d tokens", promptTokens), fmt.Sprintf("%d sessions", s.sideBySide())} {
		c := &comparison{tolerance: tolerance(s.Bundle, s.Config.KV), model: &s.Bundle.Model}
		from, to := i, 1+i*s.sideBySide() // the prompt's row, and the rows of the sessions
		for row := from; row < to; row++ {
			c.add(logits[0][row], logits[1][row])
		}
		if wrong := c.wrong(); wrong != "" {
			s.Write(checkup.Fail, what, "logits: %s", wrong)
			continue
		}
		s.Write(checkup.Pass, what, "logits differ from the CPU's by at most %.2g of their size", c.worst)
	}
	return nil
}

// prompts returns the logits after a prompt, and those of a token of each of many sessions.
func (s *Subject) prompts(d device.Device) (all [][]float32, err error) {
	m, err := s.on(d, func(cfg *device.Config, most int) {
		cfg.Context, cfg.Tables = min(promptTokens, most), s.sideBySide()
		cfg.Pages = max(plan.Pages(cfg.Context), s.sideBySide())
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	prompt := s.prompt(m.Context())
	first, err := m.NewPrivateSession()
	if err == nil {
		err = first.Sync(context.Background(), prompt, nil)
	}
	if err != nil {
		return nil, err
	}
	all = append(all, slices.Clone(first.Logits()))
	if err := first.Close(); err != nil {
		return nil, err
	}
	var rows []engine.Row
	for i := range s.sideBySide() {
		session, err := m.NewPrivateSession()
		if err != nil {
			return nil, err
		}
		rows = append(rows, engine.Row{Session: session, Token: prompt[i%len(prompt)], Logits: true})
	}
	err = m.Step(rows, func(_ int, of [][]float32) {
		for _, own := range of {
			all = append(all, slices.Clone(own))
		}
	})
	return all, err
}
