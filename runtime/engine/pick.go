package engine

import (
	"slices"
	"sync"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Pick is Step, after which the rows' samplers pick tokens. picked has the tokens after each row that has a
// sampler: one token, negative if none is possible, and one more for every accepted draft. The sampler has
// accepted all of them but the last. Drafts that were not accepted are removed. If the device can, it picks
// for samplers that are Portable, and their logits stay there; the tokens are the same. No two rows may have
// the same sampler.
func (m *Model) Pick(rows []Row) (picked [][]int32, err error) {
	picked = make([][]int32, len(rows))
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Guesses = m.allowed(&rows[i])
	}
	err = m.pieces(rows, func(first int, piece []Row) error {
		list, states := make([]Row, 0, len(piece)), make([]*device.Sampling, 0, len(piece))
		for i := range piece {
			list, states = piece[i].guessed(list, states)
		}
		out, err := m.replay(list, states)
		if err != nil {
			return err
		}
		pickAll(piece, out, picked[first:])
		for i, r := range piece {
			if wrong := len(r.Guesses) + 1 - len(picked[first+i]); r.Sampler != nil && wrong > 0 {
				if err := r.Session.rewind(len(r.Session.tokens) - wrong); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return picked, err
}

// allowed returns those of a row's drafts that can be run.
func (m *Model) allowed(r *Row) []int32 {
	most := min(len(r.Guesses), m.Width()-1, plan.DefaultBatch-1)
	if r.Sampler == nil || most < 1 {
		return nil
	}
	for i, t := range r.Guesses[:most] {
		if t < 0 || int(t) >= m.vocab {
			return r.Guesses[:i]
		}
	}
	return r.Guesses[:most]
}

// guessed appends a row and its drafts, and for each the state that its sampler will have after it has
// accepted the drafts before.
func (r *Row) guessed(rows []Row, states []*device.Sampling) ([]Row, []*device.Sampling) {
	var state *device.Sampling
	if p, ok := r.Sampler.(Portable); ok {
		state = p.Sampling()
	}
	own := Row{Session: r.Session, Token: r.Token, Logits: r.Sampler != nil}
	rows, states = append(rows, own), append(states, state)
	for _, t := range r.Guesses {
		if state != nil {
			state = state.After(t)
		}
		own.Token = t
		rows, states = append(rows, own), append(states, state)
	}
	return rows, states
}

// pickAll lets the samplers pick for rows and drafts, in parallel: scanning the whole vocabulary takes about
// as long as a row.
func pickAll(rows []Row, out []outcome, picked [][]int32) {
	var all sync.WaitGroup
	for i := range rows {
		r := &rows[i]
		own := out[:1+len(r.Guesses)]
		out = out[len(own):]
		switch {
		case r.Sampler == nil:
		case own[0].picked:
			picked[i] = r.verify(own)
		default:
			all.Go(func() { picked[i] = r.verify(own) })
		}
	}
	all.Wait()
}

// verify picks after a row, and after each of its drafts as long as the drafts are equal to the picks.
func (r *Row) verify(out []outcome) []int32 {
	picked := make([]int32, 0, len(out))
	for i := range out {
		t := out[i].next(r.Sampler)
		if picked = append(picked, t); i == len(r.Guesses) || t != r.Guesses[i] {
			break
		}
		r.Sampler.Accept(t)
	}
	return picked
}
