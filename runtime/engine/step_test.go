package engine

import (
	"fmt"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/fake"
)

// TestLone: rows of sessions that decode run apart from a prompt whose replay would make heads of all
// that they attend to.
func TestLone(t *testing.T) {
	const context, decoding, prompts = 4096, 3, 2
	for _, c := range []struct {
		name          string
		batch, cached int
		guesses       int // of each row that decodes
		prompt        int // rows of the prompt behind them
		want          string
	}{
		{"deep sessions", 16, costlyRows / decoding, 0, 40, "[3 40]"},
		{"sessions with little in their caches", 16, 100, 0, 40, "[43]"},
		{"no expanded heads", 0, costlyRows, 0, 40, "[43]"},
		{"a batch of two", 2, costlyRows, 0, 40, "[2 1 40]"},
		{"guesses", 16, costlyRows, 7, 40, "[2 1 40]"},
		{"all in one batch", 16, costlyRows, 0, 0, "[3]"},
		{"a prompt's last row", 16, costlyRows, 0, 1, "[4]"},
	} {
		r := fake.New(fakeVocab, device.Config{Context: context, Width: 512, Tables: decoding + prompts})
		m, err := NewModel(r, fakeVocab, device.Config{Context: context, Width: 512, Tables: decoding + prompts})
		if err != nil {
			t.Fatal(err)
		}
		m.batch, m.width = c.batch, 512
		var rows []Row
		for i := range decoding + 1 {
			s, err := m.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			if i < decoding {
				s.tokens = make([]int32, c.cached)
				rows = append(rows, Row{Session: s, Guesses: make([]int32, c.guesses)})
				continue
			}
			for range c.prompt {
				rows = append(rows, Row{Session: s})
			}
		}
		var got []int
		if err := m.pieces(rows, func(first int, piece []Row) error {
			got = append(got, len(piece))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: replays of %d rows; expected %s", c.name, got, c.want)
		}
	}
}
