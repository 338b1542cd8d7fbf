package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Row is a token to be run at the end of a session's timeline.
type Row struct {
	Session *Session
	Token   int32
	Logits  bool    // logits are wanted
	Sampler Sampler // for Pick: picks the token after the row; nil: none is picked
	Guesses []int32 // for Pick, on the session's last row: drafts of the next tokens, run in one batch with it; the sampler must not be Watching
}

// Width is the most rows of one replay.
func (m *Model) Width() int { return m.width }

// filled is how many of some rows, at most Width, one replay runs. It is all of them, unless they would need
// a sequence for prompts that they do not fill, and some of them fill a narrower one. So few rows of a
// sequence are dead.
func (m *Model) filled(rows int) int {
	for i := len(m.prompts) - 1; i >= 0; i-- {
		if m.prompts[i] <= rows {
			return m.prompts[i]
		}
	}
	return rows
}

// promptsOf computes Model.prompts.
func promptsOf(m *device.Model, cfg device.Config) (widths []int) {
	for _, q := range m.Sequences(cfg) {
		if q.Width > m.Bundle.BatchRows() {
			widths = append(widths, q.Width)
		}
	}
	return widths
}

// Step runs rows in as few replays as the model's width allows; rows of one session must be in order.
// Sessions must have pages for them (Reserve). After every replay that computes logits, it calls logits with
// the index of the replay's first row and the logits of each row, nil where they are not wanted. They are
// valid until logits returns; logits must not use the model. After an error, the sessions have the rows of
// the earlier replays.
func (m *Model) Step(rows []Row, logits func(first int, of [][]float32)) error {
	return m.pieces(rows, func(first int, piece []Row) error {
		out, err := m.replay(piece, nil)
		if err != nil || !slices.ContainsFunc(piece, func(r Row) bool { return r.Logits }) {
			return err
		}
		of := make([][]float32, len(piece))
		for i := range out {
			of[i] = out[i].logits
		}
		logits(first, of)
		return nil
	})
}

// pieces calls f with the rows of each replay and the index of the first. A replay has at most plan.MaxWanted
// rows with logits.
func (m *Model) pieces(rows []Row, f func(first int, piece []Row) error) error {
	for first := 0; first < len(rows); {
		n, run := m.fitting(rows[first:], m.Width())
		if few := m.filled(run); few < run {
			n, run = m.fitting(rows[first:], few)
		}
		if run > m.batch { // otherwise the replay has no expanded heads
			n = cmp.Or(m.single(rows[first:first+n]), n)
		}
		if err := f(first, rows[first:first+n]); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// fitting returns how many of the first rows one replay of at most width rows can run, and how many rows
// these are with their drafts.
func (m *Model) fitting(rows []Row, width int) (n, run int) {
	for wanted := 0; n < len(rows); n++ {
		r := &rows[n]
		own := 1 + len(r.Guesses)
		if r.Logits || r.Sampler != nil {
			wanted += own
		}
		if run+own > width || wanted > m.runner.Wanted(run+own) || stopped(rows[:n+1]) {
			break
		}
		run += own
	}
	return n, run
}

// costlyRows is the number of cache rows whose expansion takes about as long as a batch. It was computed from
// bytes and products of the models in specs/ on an NVIDIA H200, not measured.
const costlyRows = 2048

// single is how many of the first rows of a replay run before the others, as a batch: rows that are the only
// ones of their sessions. A replay with expanded heads (plan.ExpandHeads) would expand all cache rows of such
// a session for a single row, while a batch attends to the latent rows. 0: none.
func (m *Model) single(rows []Row) int {
	n, run, cached := 0, 0, 0
	for ; n < len(rows); n++ {
		own := 1 + len(rows[n].Guesses)
		if run+own > m.batch || n+1 < len(rows) && rows[n+1].Session == rows[n].Session {
			break
		}
		run += own
		cached += len(rows[n].Session.tokens) + own
	}
	if n == len(rows) || cached < costlyRows {
		return 0
	}
	return n
}

// outcome is the result of a row whose logits are wanted: the logits, or the token that the device has
// picked.
type outcome struct {
	logits []float32
	token  int32
	picked bool
}

// next is the token that the sampler picks; s is the sampler whose state the device may have used to pick.
func (o *outcome) next(s Sampler) int32 {
	if o.picked {
		s.(Portable).Skip()
		return o.token
	}
	return s.Next(o.logits)
}

// replay runs at most Width rows. For rows with a sampler's state the device picks the token, if it can.
// Earlier logits become invalid, and steps that the device has made ahead are dropped.
func (m *Model) replay(rows []Row, states []*device.Sampling) ([]outcome, error) {
	if m.failed != nil {
		return nil, m.failed
	}
	if m.stateful() {
		if err := m.folds(rows); err != nil {
			return nil, err
		}
	}
	list, err := m.rows(rows)
	if err != nil {
		return nil, err
	}
	m.turn()
	out, err := m.run(list, rows, states)
	if m.reopens(err) {
		if err := m.reopen(err); err != nil {
			return nil, err
		}
		return m.replay(rows, states)
	}
	if m.fail(err) != nil {
		where := fmt.Sprintf("token %d at position %d", list[0].Token, list[0].Pos)
		if len(list) > 1 {
			where += fmt.Sprintf(", with %d rows beside it", len(list)-1)
		}
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if m.narrow() && overflowed(out) {
		if wide, went, err := m.widen(rows, states); went {
			return wide, err
		}
	}
	hidden, err := m.hidden(rows)
	if m.fail(err) != nil {
		return nil, err
	}
	for i, r := range rows {
		dim := len(hidden) / len(rows)
		if !r.Session.resting {
			if err := r.Session.keep(r.Token, hidden[i*dim:][:dim]); err != nil {
				return nil, err
			}
		}
		if err := r.Session.add(r.Token); err != nil {
			return nil, err
		}
		r.Session.folded = len(r.Session.tokens)
	}
	if m.stateful() {
		if err := m.saveStates(rows); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		if r.Session.logits = out[i].logits; r.Logits {
			m.holders = append(m.holders, r.Session)
		}
	}
	if !slices.ContainsFunc(out, func(o outcome) bool { return !o.picked }) {
		m.pickers = slices.Clone(m.holders)
	}
	return out, nil
}

// run runs rows on the device.
func (m *Model) run(list []plan.Row, rows []Row, states []*device.Sampling) ([]outcome, error) {
	out := make([]outcome, len(rows))
	if d, ok := m.runner.(device.Picker); ok {
		if picks := m.picks(rows, states); picks != nil {
			if err := m.runPicks(d, list, picks, out); !errors.Is(err, device.ErrSampling) {
				return out, err
			}
		}
	}
	var wanted []int
	for i, r := range rows {
		if r.Logits {
			wanted = append(wanted, i)
		}
	}
	logits, err := m.runner.Replay(list, wanted)
	if err != nil {
		return nil, err
	}
	for i, row := range wanted {
		out[row].logits = logits[i*m.vocab : (i+1)*m.vocab]
	}
	return out, nil
}

// picks lists the picks for the device; nil: it cannot pick any.
func (m *Model) picks(rows []Row, states []*device.Sampling) []device.Pick {
	list := make([]device.Pick, 0, len(states))
	some := false
	for i := range states {
		if !rows[i].Logits {
			continue
		}
		p := device.Pick{Row: i, LogitsOnly: true}
		if states[i] != nil {
			if own, err := states[i].Pick(i, m.vocab); err == nil {
				p, some = own, true
			}
		}
		list = append(list, p)
	}
	if !some || len(list) > m.runner.Wanted(len(rows)) {
		return nil
	}
	return list
}

// runPicks runs rows on a device that picks tokens. It reads the logits of the rows whose samplers pick on
// the host, and of rows for which no token could be picked.
func (m *Model) runPicks(d device.Picker, list []plan.Row, picks []device.Pick, out []outcome) error {
	tokens, err := d.Pick(list, picks)
	if err != nil {
		return err
	}
	for i, p := range picks {
		o := &out[p.Row]
		o.token, o.picked = tokens[i], !p.LogitsOnly
		if p.LogitsOnly || o.token < 0 && m.narrow() {
			if o.logits, err = d.PickedLogits(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows converts the rows for the device, and reserves pages for them.
func (m *Model) rows(rows []Row) (list []plan.Row, err error) {
	list = make([]plan.Row, 0, len(rows))
	after := make(map[*Session]int, len(rows)) // by session: rows before the current one
	for _, r := range rows {
		list = append(list, r.Session.row(r.Token, after[r.Session]))
		after[r.Session]++
	}
	for s, n := range after {
		if err := s.Reserve(n); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// stopped says whether the state of the last row's session has to be copied between two of the rows.
func stopped(rows []Row) bool {
	s := rows[len(rows)-1].Session
	if len(s.stops) == 0 {
		return false
	}
	after := 0
	for _, r := range rows[:len(rows)-1] {
		if r.Session == s {
			after += 1 + len(r.Guesses)
		}
	}
	return after > 0 && s.until(0, after+1) <= after
}
