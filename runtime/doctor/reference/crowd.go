package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

const (
	crowdPrompt = 3 // tokens of a session's prompt, at most
	crowdSteps  = 3 // tokens that follow
)

// crowded is a session of Crowd, and what it has alone.
type crowded struct {
	prompt []int32
	tokens []int32     // picked after it, the best ones
	logits [][]float32 // by which they are
}

// Crowd runs a number of sessions side by side, a row of each in every replay, for each of counts: no more than a batch of
// the bundle has rows. Each session must have the logits that it has alone, but for a tolerance, and the same tokens.
// Where the device picks tokens it must pick those, and go on by itself as the host would.
func Crowd(d device.Device, m *device.Model, cfg device.Config, tolerance float64, counts ...int) (err error) {
	most := slices.Max(counts)
	cfg.Context, cfg.Tables, cfg.Pages, cfg.Width = picksContext, most, most, most
	r, err := d.Load(m, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	vocab := m.Bundle.Model.VocabSize
	sessions := make([]crowded, most)
	for i := range sessions {
		if err := r.Assign(i, 0, []uint32{uint32(most - 1 - i)}); err != nil {
			return err
		}
		for j := range 1 + i%crowdPrompt {
			sessions[i].prompt = append(sessions[i].prompt, int32((7*i+3*j+1)%vocab))
		}
		if err := sessions[i].alone(r, uint32(i), vocab); err != nil {
			return fmt.Errorf("session %d alone: %w", i, err)
		}
	}
	for _, n := range counts {
		if r.Wanted(n) != n {
			return fmt.Errorf("of %d rows %d may be wanted; expected all", n, r.Wanted(n))
		}
		if err := crowd(r, sessions[:n], vocab, tolerance); err != nil {
			return fmt.Errorf("%d sessions: %w", n, err)
		}
	}
	p, ok := r.(device.Picker)
	if !ok {
		return nil
	}
	list := make([]*picking, most)
	all := picks()
	for i := range list {
		params := all[i%len(all)]
		params.Seed += uint64(i)
		s, err := sample.New(params)
		if err != nil {
			return err
		}
		list[i] = &picking{table: uint32(i), tokens: sessions[i].prompt, sampler: s}
	}
	if err := picksAhead(p, list, vocab); err != nil {
		return fmt.Errorf("%d rows go on: %w", most, err)
	}
	return nil
}

// row is a session's row at a position of its timeline.
func (c *crowded) row(table uint32, pos int) plan.Row {
	timeline := slices.Concat(c.prompt, c.tokens)
	row := Step(timeline[pos], pos)
	row.Table = table
	return row
}

// alone runs the session in replays of one row.
func (c *crowded) alone(r device.Runner, table uint32, vocab int) error {
	for pos := 0; len(c.tokens) < crowdSteps; pos++ {
		logits, err := r.Replay([]plan.Row{c.row(table, pos)}, device.AllIf(pos >= len(c.prompt)-1, 1))
		if err != nil {
			return err
		}
		if logits != nil {
			c.logits = append(c.logits, slices.Clone(logits))
			c.tokens = append(c.tokens, best(logits))
		}
	}
	return nil
}

// best is the token with the greatest logit.
func best(logits []float32) int32 {
	at := 0
	for i := range logits {
		if logits[i] > logits[at] {
			at = i
		}
	}
	return int32(at)
}

// crowd runs all of the sessions in replays of a row of each.
func crowd(r device.Runner, sessions []crowded, vocab int, tolerance float64) error {
	for pos := range crowdPrompt - 1 { // the prompts, without their last token
		var rows []plan.Row
		for i := range sessions {
			if pos < len(sessions[i].prompt)-1 {
				rows = append(rows, sessions[i].row(uint32(i), pos))
			}
		}
		if _, err := r.Replay(rows, nil); err != nil {
			return err
		}
	}
	greedy, err := sample.New(sample.Off())
	if err != nil {
		return err
	}
	for step := range crowdSteps {
		var rows []plan.Row
		var asked []device.Pick
		for i := range sessions {
			rows = append(rows, sessions[i].row(uint32(i), len(sessions[i].prompt)-1+step))
			pick, err := greedy.Sampling().Pick(i, vocab)
			if err != nil {
				return err
			}
			asked = append(asked, pick)
		}
		logits, err := r.Replay(rows, device.All(len(rows)))
		if err != nil {
			return err
		}
		for i := range sessions {
			if err := sessions[i].same(step, logits[i*vocab:][:vocab], tolerance); err != nil {
				return fmt.Errorf("session %d, token %d: %w", i, step, err)
			}
		}
		p, ok := r.(device.Picker)
		if !ok {
			continue
		}
		picked, err := p.Pick(rows, asked)
		if err != nil {
			return err
		}
		for i := range sessions {
			if picked[i] != sessions[i].tokens[step] {
				return fmt.Errorf("session %d, token %d: the device picks %d; alone %d", i, step, picked[i], sessions[i].tokens[step])
			}
		}
	}
	return nil
}

// same wants logits to be those that the session has alone.
func (c *crowded) same(step int, logits []float32, tolerance float64) error {
	worst := 0.0
	for i, x := range logits {
		if off := math.Abs(float64(x) - float64(c.logits[step][i])); !(off <= worst) {
			worst = off
		}
	}
	if token := best(logits); !(worst <= tolerance) || token != c.tokens[step] {
		return fmt.Errorf("logits are off by %g, of at most %g; the best token is %d, alone %d", worst, tolerance, token, c.tokens[step])
	}
	return nil
}
