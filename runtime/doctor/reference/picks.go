package reference

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// picksContext is the context of each session of Picks.
const picksContext = 40

// picking is a session of Picks.
type picking struct {
	table   uint32
	tokens  []int32
	sampler *sample.Sampler
}

// Picks runs five sessions side by side, each with its own sampler. In every replay the device picks after
// the last row of most sessions, after all rows of one session, as for drafts, and after no row of another,
// whose prompt continues; of yet another it only computes the logits. The tokens must be those that the host
// picks by the logits of the same rows.
func Picks(d device.Device, m *device.Model, cfg device.Config) (err error) {
	const sessions = 5
	cfg.Context, cfg.Tables, cfg.Pages, cfg.Width = picksContext, sessions, sessions, m.Bundle.Width()
	r, err := d.Load(m, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p, ok := r.(device.Picker)
	if !ok {
		return errors.New("the runner picks no tokens")
	}
	all := append(picks(), picks()...)
	var list []*picking
	for i := range sessions {
		params := all[i%len(all)]
		params.Seed += uint64(i)
		s, err := sample.New(params)
		if err != nil {
			return err
		}
		list = append(list, &picking{table: uint32(i), sampler: s})
		if err := r.Assign(i, 0, []uint32{uint32(sessions - 1 - i)}); err != nil {
			return err
		}
	}
	if err := pickMisuse(p, m.Bundle.Model.VocabSize); err != nil {
		return err
	}
	for round := range 6 {
		if err := pickRound(p, list, round, m.Bundle.Model.VocabSize); err != nil {
			return fmt.Errorf("picks, round %d: %w", round, err)
		}
	}
	for _, n := range []int{sessions, 2, 1} {
		if err := picksAhead(p, list[:n], m.Bundle.Model.VocabSize); err != nil {
			return fmt.Errorf("%d rows go on: %w", n, err)
		}
	}
	return nil
}

// units lists how many steps the device continues by itself in each unit, of which at most three are in
// flight. One unit is longer than a CUDA graph.
var units = []int{1, 5, 2, 1, 1, 6}

// picksAhead lets the device pick after a row of each session and continue by itself, and then the host, step
// by step. The tokens must be equal, which shows that the rows were.
func picksAhead(r device.Picker, list []*picking, vocab int) error {
	var rows []plan.Row
	var asked []device.Pick
	for i, s := range list {
		row := Step(int32((11*i+3)%vocab), len(s.tokens))
		row.Table = s.table
		pick, err := s.sampler.Sampling().Pick(i, vocab)
		if err != nil {
			return err
		}
		rows, asked = append(rows, row), append(asked, pick)
	}
	first, err := r.Pick(rows, asked)
	if err != nil {
		return err
	}
	got, err := ahead(r)
	if err != nil {
		return err
	}
	for step, tokens := range append([][]int32{first}, got...) {
		logits, err := r.Replay(rows, device.All(len(rows)))
		if err != nil {
			return err
		}
		for i, s := range list {
			pick := asked[i]
			pick.Draw += uint64(step)
			token := sample.Picked(&pick, logits[i*vocab:][:vocab])
			if tokens[i] != token {
				return fmt.Errorf("step %d, session %d: token %d; expected %d (%+v)", step, s.table, tokens[i], token, pick)
			}
			rows[i].Token, rows[i].Pos, rows[i].NKV = uint32(token), rows[i].Pos+1, rows[i].NKV+1
		}
	}
	return ended(r) // by the Replay
}

// ahead requests units of steps. Some are requested while the previous unit is in flight, others after it has
// ended, as reading a page waits for the end.
func ahead(r device.Picker) (got [][]int32, err error) {
	page := make([]byte, r.PageBytes())
	asked := 0
	for i, n := range units {
		if i%2 > 0 {
			if err := r.ReadPage(0, page); err != nil {
				return nil, err
			}
		}
		if err := r.Continue(n); err != nil {
			return nil, err
		}
		for asked += n; i >= 2 && asked-len(got) > n || i == len(units)-1 && len(got) < asked; {
			tokens, err := r.Next()
			if err != nil {
				return nil, err
			}
			got = append(got, tokens)
		}
	}
	return got, nil
}

// pickRound runs rows of all sessions twice: for the host to pick, and for the device to pick.
func pickRound(r device.Picker, list []*picking, round, vocab int) error {
	var rows []plan.Row
	var asked []device.Pick
	var who []*picking
	var states []*device.Sampling
	for i, s := range list {
		guesses := []int{1, 3, 1, 2, 1}[(i+round)%len(list)]
		state := s.sampler.Sampling()
		for n := range guesses {
			token := int32((7*i + 5*round + 3*n + 1) % vocab)
			row := Step(token, len(s.tokens))
			row.Table = s.table
			rows, s.tokens = append(rows, row), append(s.tokens, token)
			state = state.After(token)
			s.sampler.Skip()
			s.sampler.Accept(token)
			if i == round%len(list) || n < guesses-1 && guesses != 3 { // part of a prompt, or its last row only
				continue
			}
			pick, err := state.Pick(len(rows)-1, vocab)
			if err != nil {
				return err
			}
			pick.LogitsOnly = i == 4
			if (i+n+round)%2 == 0 { // by row, two of five tokens
				pick.Mask = slices.Repeat([]uint32{0x21084210 << ((i + n) % 5)}, plan.MaskWords(vocab))
			}
			asked, who, states = append(asked, pick), append(who, s), append(states, state)
		}
	}
	logits, err := r.Replay(rows, device.All(len(rows)))
	if err != nil {
		return err
	}
	logits = slices.Clone(logits)
	got, err := r.Pick(rows, asked)
	if err != nil {
		return err
	}
	for i, pick := range asked {
		own := logits[pick.Row*vocab:][:vocab]
		want := int32(-1)
		if !pick.LogitsOnly {
			want = sample.Picked(&pick, own)
		}
		if got[i] != want {
			return fmt.Errorf("after row %d of %d, of session %d: token %d; expected %d (%+v)", pick.Row, len(rows), who[i].table, got[i], want, *states[i])
		}
		if same, err := r.PickedLogits(i); err != nil || !slices.Equal(same, own) {
			return fmt.Errorf("the logits of pick %d are not those of row %d: %w", i, pick.Row, err)
		}
	}
	return nil
}

// pickMisuse makes impossible requests, which must not run anything.
func pickMisuse(r device.Picker, vocab int) error {
	rows := Rows(1, 0)
	many := make([]device.Pick, plan.LargestBatch+1)
	for name, asked := range map[string][]device.Pick{"none": nil, "too many": many, "another row": {{Row: 1}}, "no row": {{Row: -1}}, "too long": {{Adjusts: make([]plan.Adjust, plan.PickAdjusts+1)}}} {
		if _, err := r.Pick(rows, asked); err == nil {
			return fmt.Errorf("picks that cannot be, %s: no error", name)
		}
	}
	if _, err := r.PickedLogits(0); err == nil {
		return errors.New("logits of no pick")
	}
	if _, err := r.Replay(rows, device.All(len(rows))); err != nil {
		return err
	}
	if _, err := r.PickedLogits(0); err == nil {
		return errors.New("logits of a pick after a Replay")
	}
	_, err := r.Pick([]plan.Row{{Token: uint32(vocab), NKV: 1}}, many[:1])
	if err == nil {
		return errors.New("a token outside the vocabulary: no error")
	}
	return nil
}
