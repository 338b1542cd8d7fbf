package device

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// repeater computes different logits for every token. In one replay one bit is wrong.
type repeater struct {
	Runner
	replays int
	wrong   int // replay, from 0; -1: none
	fail    error
}

func (r *repeater) Replay(rows []plan.Row, _ []int) ([]float32, error) {
	s := rows[0]
	out := []float32{float32(s.Token), 1, float32(math.Copysign(0, -1))}
	if r.replays == r.wrong {
		out[2] = 0 // as equal as a float can be, and not the same bits
	}
	r.replays++
	return out, r.fail
}

func (*repeater) Diagnostics() Diagnostics { return Diagnostics{} }

// stressing returns a stress test with two tokens at a position.
func stressing(replays int) *Stressing {
	return &Stressing{Rows: [2]plan.Row{{Token: 3, Pos: 4, NKV: 5}, {Token: 8, Pos: 4, NKV: 5}}, Replays: replays}
}

// TestStress checks that the one wrong bit is found, in any replay.
func TestStress(t *testing.T) {
	for wrong := -1; wrong < 9; wrong++ {
		var reported int
		s := stressing(9)
		s.Progress = func(done, total int) { reported += total - done }
		got, err := Stress(t.Context(), &repeater{wrong: wrong}, s)
		if err != nil || got.Replays != 9 || reported != 36 {
			t.Fatalf("%+v, %v, %d reported", got, err, reported)
		}
		switch {
		case wrong < 0:
			if got.Different != 0 || got.First != nil {
				t.Errorf("%+v; all replays are the same", got)
			}
		case wrong < 2: // what the others are compared with
			if got.First == nil || got.First.Replay != wrong+2 || got.Different != (9-1-wrong)/2 {
				t.Errorf("the first of a token is wrong: %+v, %v", got, got.First)
			}
		default:
			want := Difference{Replay: wrong, Index: 2, Part: "logits", Got: 0, Want: 1 << 31}
			if got.Different != 1 || *got.First != want || !strings.Contains(got.First.String(), "element 2 of the logits is 0x0; expected 0x80000000") {
				t.Errorf("replay %d is wrong: %+v, %v", wrong, got, got.First)
			}
		}
	}
}

// TestComparisonParts checks that parts and widths of elements are distinguished.
func TestComparisonParts(t *testing.T) {
	c := NewComparison([]Part{{"words", 8, 4}, {"bytes", 3, 1}})
	for at := range 11 {
		result := make([]byte, 11)
		if c.Replays >= 2 {
			result[at] = 0x80
		}
		c.First = nil
		c.Add(result)
		want := Difference{Replay: at, Index: at / 4, Part: "words", Got: 0x80 << (at % 4 * 8)}
		if at >= 8 {
			want = Difference{Replay: at, Index: at - 8, Part: "bytes", Got: 0x80}
		}
		if at >= 2 && (c.First == nil || *c.First != want) {
			t.Errorf("byte %d: %v; expected %v", at, c.First, &want)
		}
	}
}

func TestStressRefuses(t *testing.T) {
	same, apart := stressing(9), stressing(9)
	same.Rows[1].Token = same.Rows[0].Token
	apart.Rows[1].Pos++
	for name, s := range map[string]*Stressing{"two replays": stressing(2), "one token": same, "two positions": apart} {
		if _, err := Stress(t.Context(), &repeater{wrong: -1}, s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	failed := errors.New("a failure")
	if _, err := Stress(t.Context(), &repeater{fail: failed}, stressing(9)); !errors.Is(err, failed) {
		t.Errorf("a failing replay: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := stressing(9)
	s.Progress = func(done, _ int) {
		if done == 4 {
			cancel()
		}
	}
	if got, err := Stress(ctx, &repeater{wrong: -1}, s); !errors.Is(err, context.Canceled) || got.Replays != 4 {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}
