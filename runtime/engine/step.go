package engine

import (
	"fmt"

	"mla/runtime/plan"
)

// Row is a token to be run at the end of a session's timeline.
type Row struct {
	Session *Session
	Token   int32
	Logits  bool // are wanted
}

// Width is how many rows one replay of the model runs at most.
func (m *Model) Width() int { return m.width }

// Step runs rows, of one session in their order, in as few replays as the model's width
// allows. Sessions must have pages for them (Reserve). logits is called behind every
// replay that computes some, with the number of its first row and the logits of each row,
// nil where they are not wanted; they are valid until it returns. It must not use the
// model. An error leaves the sessions with the rows of the replays before.
func (m *Model) Step(rows []Row, logits func(first int, of [][]float32)) error {
	for first := 0; first < len(rows); first += m.Width() {
		piece := rows[first:min(first+m.Width(), len(rows))]
		out, err := m.replay(piece)
		if err != nil {
			return err
		}
		if out == nil {
			continue
		}
		of := make([][]float32, len(piece))
		for i, r := range piece {
			if r.Logits {
				of[i] = out[i*m.vocab : (i+1)*m.vocab]
			}
		}
		logits(first, of)
	}
	return nil
}

// replay runs at most Width rows, and returns the logits of all if some are wanted. The
// logits that sessions had are gone, and so is a chain of tokens that the device picks.
func (m *Model) replay(rows []Row) ([]float32, error) {
	if m.failed != nil {
		return nil, m.failed
	}
	list, wanted, err := m.rows(rows)
	if err != nil {
		return nil, err
	}
	m.turn()
	out, err := m.runner.Replay(list, wanted)
	if m.fail(err) != nil {
		where := fmt.Sprintf("token %d at position %d", list[0].Token, list[0].Pos)
		if len(list) > 1 {
			where += fmt.Sprintf(", with %d rows beside it", len(list)-1)
		}
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	for _, r := range rows {
		if err := r.Session.add(r.Token); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		if r.Session.logits = nil; r.Logits {
			r.Session.logits = out[i*m.vocab : (i+1)*m.vocab]
			m.holders = append(m.holders, r.Session)
		}
	}
	return out, nil
}

// rows are the rows as the device knows them, and whether logits of some are wanted. Every
// session has pages for its own afterwards.
func (m *Model) rows(rows []Row) (list []plan.Row, wanted bool, err error) {
	behind := make(map[*Session]int, len(rows)) // rows of a session before the one at hand
	for _, r := range rows {
		row := r.Session.row(r.Token, behind[r.Session])
		behind[r.Session]++
		list, wanted = append(list, row), wanted || r.Logits
	}
	for s, n := range behind {
		if err := s.Reserve(n); err != nil {
			return nil, false, err
		}
	}
	return list, wanted, nil
}
