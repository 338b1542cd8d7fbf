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
	crowdPrompt = 2 // maximum number of tokens of a session's prompt
	crowdSteps  = 3 // number of tokens that follow
)

// crowded is a session of Crowd, with its results when it runs alone.
type crowded struct {
	prompt []int32
	tokens []int32     // the best tokens after the prompt
	logits [][]float32 // the logits by which they were picked
}

// Crowd checks sessions that run side by side: every replay has a row of each session. counts lists the numbers of
// sessions to run, each at most the rows of a batch of the bundle. Each session must have the tokens that it has
// alone, and its logits within the tolerance. A device that picks tokens must pick these tokens, too, and must
// continue by itself as the host would. The error names the session and the token.
func Crowd(d device.Device, m *device.Model, cfg device.Config, tolerance float64, counts ...int) (err error) {
	most := slices.Max(counts)
	cfg.Context, cfg.Tables, cfg.Pages, cfg.Width = crowdPrompt+crowdSteps, most, most, most
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
	return nil
}

// row returns the session's row at a position of its timeline: the prompt, then the picked tokens.
func (c *crowded) row(table uint32, pos int) plan.Row {
	timeline := slices.Concat(c.prompt, c.tokens)
	row := Step(timeline[pos], pos)
	row.Table = table
	return row
}

// alone runs the session in replays of one row, and keeps its tokens and logits.
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

// best returns the token with the greatest logit.
func best(logits []float32) int32 {
	at := 0
	for i := range logits {
		if logits[i] > logits[at] {
			at = i
		}
	}
	return int32(at)
}

// crowd runs the sessions in replays that have a row of each, and compares the results with those of alone.
func crowd(r device.Runner, sessions []crowded, vocab int, tolerance float64) error {
	for pos := range crowdPrompt - 1 { // the prompts without their last tokens
		if _, err := r.Replay(rowsOf(sessions, func(c *crowded) (int, bool) { return pos, pos < len(c.prompt)-1 }), nil); err != nil {
			return err
		}
	}
	for step := range crowdSteps {
		rows := stepOf(sessions, step)
		logits, err := r.Replay(rows, device.All(len(rows)))
		if err != nil {
			return err
		}
		for i := range sessions {
			if err := sessions[i].same(step, logits[i*vocab:][:vocab], tolerance); err != nil {
				return fmt.Errorf("session %d, token %d: %w", i, step, err)
			}
		}
	}
	if p, ok := r.(device.Picker); ok {
		return crowdAhead(p, sessions, vocab)
	}
	return nil
}

// rowsOf returns one row for each session for which at reports true, at the position that at returns. The block
// table of session i is i.
func rowsOf(sessions []crowded, at func(*crowded) (pos int, has bool)) (rows []plan.Row) {
	for i := range sessions {
		if pos, has := at(&sessions[i]); has {
			rows = append(rows, sessions[i].row(uint32(i), pos))
		}
	}
	return rows
}

// stepOf returns the rows after which the tokens of a step are picked.
func stepOf(sessions []crowded, step int) []plan.Row {
	return rowsOf(sessions, func(c *crowded) (int, bool) { return len(c.prompt) - 1 + step, true })
}

// crowdAhead lets the device pick after the first step's rows and then continue by itself. It checks the tokens.
func crowdAhead(p device.Picker, sessions []crowded, vocab int) error {
	greedy, err := sample.New(sample.Off())
	if err != nil {
		return err
	}
	asked := make([]device.Pick, len(sessions))
	for i := range asked {
		if asked[i], err = greedy.Sampling().Pick(i, vocab); err != nil {
			return err
		}
	}
	picked, err := p.Pick(stepOf(sessions, 0), asked)
	if err == nil {
		err = p.Continue(crowdSteps - 1)
	}
	for step := range crowdSteps {
		if step > 0 && err == nil {
			picked, err = p.Next()
		}
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

// same returns an error unless logits are those that the session has alone at a step, within the tolerance, with
// the same best token.
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
