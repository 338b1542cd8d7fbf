package reference

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// SessionsContext is the context that Sessions needs: more than a page.
const SessionsContext = plan.PageRows + 8

// session is a timeline of Sessions.
type session struct {
	table  uint32
	tokens []int32
	last   []float32 // logits after the last token
}

func (s *session) run(r device.Runner, token int32) error { return s.replay(r, token, true) }

// replay runs a token without waiting for it, unless its logits are wanted.
func (s *session) replay(r device.Runner, token int32, wanted bool) error {
	row := Step(token, len(s.tokens))
	row.Table = s.table
	logits, err := r.Replay([]plan.Row{row}, device.AllIf(wanted, 1))
	s.tokens, s.last = append(s.tokens, token), slices.Clone(logits)
	return err
}

// Sessions runs three sessions side by side on one loaded model, whose pages are in random order: a long one,
// a short one between its tokens, and one that shares the first page of the long one and continues from a
// copy of its second page. Each must have the same logits, bit by bit, as when it runs alone. At the end the
// pages of the long session are moved to other pages by way of the host.
func Sessions(d device.Device, m *device.Model, cfg device.Config) (err error) {
	cfg.Context, cfg.Tables, cfg.Pages = SessionsContext, 3, 5
	r, err := d.Load(m, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	long, short, fork := &session{table: 2}, &session{table: 0}, &session{table: 1}
	if err := errors.Join(r.Assign(2, 0, []uint32{4, 1}), r.Assign(0, 0, []uint32{3})); err != nil {
		return err
	}
	vocab := int32(m.Bundle.Model.VocabSize)
	for i := range int32(plan.PageRows + 3) {
		// Rows of the second page are copied while its tokens are in flight.
		if err := long.replay(r, (7*i+5)%vocab, i < plan.PageRows); err != nil {
			return err
		}
		if i%16 == 1 {
			if err := short.run(r, (3*i+2)%vocab); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(r.Assign(1, 0, []uint32{4}), r.CopyRows(1, 2, 3), r.Assign(1, 1, []uint32{2})); err != nil {
		return err
	}
	fork.tokens = slices.Clone(long.tokens)
	for i := range int32(2) {
		if err := errors.Join(fork.run(r, 11+i), long.run(r, 8-i)); err != nil {
			return err
		}
	}
	for name, s := range map[string]*session{"long": long, "short": short, "forked": fork} {
		if err := s.alone(d, m, cfg); err != nil {
			return fmt.Errorf("the %s session: %w", name, err)
		}
	}
	return errors.Join(long.moved(r, 1, []uint32{4, 1}, []uint32{0, 2}), pagesRefused(r))
}

// moved copies the session's pages to the host and from there to other pages, and overwrites the old ones.
// Another block table with the new pages must continue as the session does.
func (s *session) moved(r device.Runner, table uint32, pages, to []uint32) error {
	const next = 13
	copies := make([][]byte, len(pages))
	for i, p := range pages {
		copies[i] = make([]byte, r.PageBytes())
		if err := r.ReadPage(p, copies[i]); err != nil {
			return err
		}
	}
	other := &session{table: table, tokens: slices.Clone(s.tokens)}
	if err := s.run(r, next); err != nil { // this needs the old pages: reading changes nothing
		return err
	}
	buffer := make([]byte, r.PageBytes())
	for i, p := range to {
		copy(buffer, copies[i])
		if err := r.WritePage(p, buffer); err != nil {
			return err
		}
		clear(buffer) // a device that needs the data later must have copied it
		if err := r.WritePage(pages[i], buffer); err != nil {
			return err
		}
	}
	if err := r.Assign(int(table), 0, to); err != nil {
		return err
	}
	if err := other.run(r, next); err != nil {
		return err
	}
	if !slices.Equal(other.last, s.last) {
		return errors.New("pages that went through the host do not hold what they held")
	}
	return readBack(r, to, copies)
}

// readBack requires that pages hold what was written to them, without the last row of the last page, which
// was run since.
func readBack(r device.Runner, pages []uint32, want [][]byte) error {
	buffer := make([]byte, r.PageBytes())
	for i, p := range pages {
		if err := r.ReadPage(p, buffer); err != nil {
			return err
		}
		if same := slices.Equal(buffer, want[i]); same != (i < len(pages)-1) {
			return fmt.Errorf("page %d: what is read is what was written: %t", p, same)
		}
	}
	return nil
}

// alone requires the session's last logits from a runner that has no other session.
func (s *session) alone(d device.Device, m *device.Model, cfg device.Config) (err error) {
	r, err := device.LoadSingle(d, m, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var want []float32
	for pos, token := range s.tokens {
		if want, err = r.Replay(Rows(token, pos), device.AllIf(pos == len(s.tokens)-1, 1)); err != nil {
			return err
		}
	}
	if !slices.Equal(s.last, want) {
		return errors.New("the logits are not those that it has alone")
	}
	return nil
}

// pagesRefused makes impossible requests. None of them may change the device's memory.
func pagesRefused(r device.Runner) error {
	row := Step(1, 0)
	for what, f := range map[string]func() error{
		"a table too many":       func() error { return r.Assign(3, 0, []uint32{0}) },
		"a negative table":       func() error { return r.Assign(-1, 0, []uint32{0}) },
		"a page too many":        func() error { return r.Assign(0, 0, []uint32{5}) },
		"a gap":                  func() error { return r.Assign(0, 2, []uint32{0}) },
		"a table too long":       func() error { return r.Assign(0, 0, make([]uint32, 1<<16)) },
		"a copy to itself":       func() error { return r.CopyRows(1, 1, 1) },
		"a copy of no page":      func() error { return r.CopyRows(5, 1, 1) },
		"a copy of no rows":      func() error { return r.CopyRows(0, 1, 0) },
		"a copy of too many":     func() error { return r.CopyRows(0, 1, plan.PageRows+1) },
		"a read of no page":      func() error { return r.ReadPage(5, make([]byte, r.PageBytes())) },
		"a read too short":       func() error { return r.ReadPage(0, make([]byte, r.PageBytes()-1)) },
		"a write to no page":     func() error { return r.WritePage(5, make([]byte, r.PageBytes())) },
		"a write too long":       func() error { return r.WritePage(0, make([]byte, r.PageBytes()+1)) },
		"a row without a table":  func() error { row.Table = 3; _, err := r.Replay([]plan.Row{row}, device.All(1)); return err },
		"a row without its page": func() error { return unassigned(r) },
	} {
		if f() == nil {
			return fmt.Errorf("%s: no error", what)
		}
	}
	return nil
}

// unassigned replays a row whose page was taken away.
func unassigned(r device.Runner) error {
	if err := r.Assign(0, 0, nil); err != nil {
		return nil
	}
	_, err := r.Replay(Rows(1, 0), device.All(1))
	return err
}
