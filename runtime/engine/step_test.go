package engine

import (
	"fmt"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
)

// TestLone checks that rows of sessions which decode run apart from a prompt, if the prompt's replay would
// expand the heads of all their cache rows.
func TestLone(t *testing.T) {
	const context, decoding, prompts = 4096, 3, 2
	for _, c := range []struct {
		name          string
		batch, cached int
		guesses       int // of each row that decodes
		prompt        int // rows of the prompt after them
		want          string
	}{
		{"deep sessions", 16, costlyRows / decoding, 0, 40, "[3 40]"},
		{"sessions with little in their caches", 16, 100, 0, 40, "[43]"},
		{"no expanded heads", 0, costlyRows, 0, 40, "[43]"},
		{"a batch of two", 2, costlyRows, 0, 40, "[2 1 40]"},
		{"guesses", 16, costlyRows, 7, 40, "[2 1 40]"},
		{"all in one batch", 16, costlyRows, 0, 0, "[3]"},
		{"all in one batch, with a prompt", 16, costlyRows, 0, 13, "[16]"},
		{"one more than a batch", 16, costlyRows, 0, 14, "[3 14]"},
		{"a batch with a prompt and guesses", 16, costlyRows, 2, 7, "[10]"},
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

// TestFilled checks that rows which do not fill the widest sequence for prompts fill narrower ones, and that
// the rest runs in one replay.
func TestFilled(t *testing.T) {
	for _, c := range []struct {
		prompts []int
		rows    int
		want    string
	}{
		{nil, 600, "[600]"},
		{[]int{512}, 88, "[88]"},
		{[]int{512}, 600, "[512 88]"},
		{[]int{512, 2048}, 88, "[88]"},
		{[]int{512, 2048}, 512, "[512]"},
		{[]int{512, 2048}, 1500, "[512 512 476]"},
		{[]int{512, 2048}, 2048, "[2048]"},
		{[]int{512, 2048}, 5000, "[2048 2048 512 392]"},
	} {
		width := 2048
		if n := len(c.prompts); n > 0 {
			width = c.prompts[n-1]
		}
		cfg := device.Config{Context: 8192, Width: width, Tables: 1}
		m, err := NewModel(fake.New(fakeVocab, cfg), fakeVocab, cfg)
		if err != nil {
			t.Fatal(err)
		}
		m.prompts, m.width = c.prompts, width
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		rows, steps, pieces := make([]Row, c.rows), []int{}, []int{}
		for i := range rows {
			rows[i].Session = s
		}
		if err := m.pieces(rows, func(_ int, piece []Row) error {
			steps = append(steps, len(piece))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for left := c.rows; left > 0; left -= pieces[len(pieces)-1] {
			pieces = append(pieces, m.piece(left))
		}
		if fmt.Sprint(steps) != c.want || fmt.Sprint(pieces) != c.want {
			t.Errorf("%d rows, sequences of %d: steps of %d, a prompt's pieces of %d; want %s", c.rows, c.prompts, steps, pieces, c.want)
		}
	}
}
