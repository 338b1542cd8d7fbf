package quality

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

const vocab = 16

// newModel is a model with a session, whose logits are zero but for one of the hash of
// all tokens in the caches.
func newModel(t *testing.T, context int) (*engine.Model, *engine.Session, *fake.Runner) {
	t.Helper()
	cfg := device.Config{Context: context}
	r := fake.New(vocab, cfg)
	m, err := engine.NewModel(r, vocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	return m, s, r
}

func counting(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i*i) % 13
	}
	return out
}

// TestRun: what counts is the second half of every chunk, each by itself.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		tokens, context, most int
		bos                   int32
		chunks, counts        int
	}{
		{20, 8, 0, -1, 2, 3}, // of each: tokens 5, 6 and 7
		{20, 8, 0, 15, 2, 3},
		{20, 8, 1, 15, 1, 3},
		{20, 7, 9, -1, 2, 3}, // 4, 5 and 6
		{4, 4, 0, -1, 1, 1},
	} {
		text, err := NewText(counting(tt.tokens), tt.context, tt.most, tt.bos)
		if err != nil {
			t.Fatal(err)
		}
		if text.Chunks() != tt.chunks || text.Positions() != tt.chunks*tt.counts {
			t.Errorf("%+v: %d chunks, %d positions", tt, text.Chunks(), text.Positions())
		}
		m, s, r := newModel(t, tt.context)
		var at []plan.Row
		r.Logits = func(row plan.Row, _ uint64, out []float32) {
			at = append(at, row)
			out[row.Token] = 1
		}
		var got []int32
		before := -1
		err = text.Run(context.Background(), m, s, func(done, total int) {
			if done <= before || total != tt.chunks*tt.context {
				t.Errorf("%+v: progress %d of %d after %d", tt, done, total, before)
			}
			before = done
		}, func(next int32, logits []float32) error {
			row := at[len(at)-1]
			want := r.Tokens(0, int(row.NKV))
			chunk := len(got) / tt.counts
			if !slices.Equal(want, text.Tokens[chunk*tt.context:][:row.NKV]) || logits[row.Token] != 1 {
				t.Errorf("%+v: position %d of chunk %d follows %d", tt, row.Pos, chunk, want)
			}
			got = append(got, next)
			return nil
		})
		var want []int32
		for chunk := range tt.chunks {
			tokens := counting(tt.tokens)[chunk*tt.context:][:tt.context]
			want = append(want, tokens[tt.context-tt.counts:]...)
			if first := text.Tokens[chunk*tt.context]; tt.bos >= 0 && first != tt.bos || tt.bos < 0 && first != tokens[0] {
				t.Errorf("%+v: chunk %d begins with %d", tt, chunk, first)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %d, %v; want %d", tt, got, err, want)
		}
	}
}

func TestRunFails(t *testing.T) {
	for context, want := range map[int]string{3: "expected 4 or more", 21: "a text of 20 tokens; a chunk has 21"} {
		if _, err := NewText(counting(20), context, 0, -1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	text, err := NewText(counting(16), 8, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	visit := func(int32, []float32) error { count++; return nil }
	m, s, _ := newModel(t, 7)
	if err := text.Run(context.Background(), m, s, nil, visit); err == nil || count > 0 {
		t.Errorf("chunks longer than the context: %v, %d visits", err, count)
	}
	m, s, _ = newModel(t, 8)
	failed := errors.New("enough")
	if err := text.Run(context.Background(), m, s, nil, func(int32, []float32) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v; want the visitor's error", err)
	}
	for replay, want := range map[int]int{2: 0, 6: 2} { // of the second: of 4 and 5
		ctx, cancel := context.WithCancel(context.Background())
		m, s, r := newModel(t, 8)
		n := 0
		r.After = func() {
			if n++; n == replay {
				cancel()
			}
		}
		count = 0
		if err := text.Run(ctx, m, s, nil, visit); !errors.Is(err, context.Canceled) || count != want {
			t.Errorf("cancelled in replay %d: %v after %d visits; want %d", replay, err, count, want)
		}
	}
	text.Tokens[15] = vocab
	if err := text.Run(context.Background(), m, s, nil, visit); err == nil || !strings.Contains(err.Error(), "token 16 at position 15 is outside the vocabulary") {
		t.Errorf("a token outside the vocabulary: %v", err)
	}
}
