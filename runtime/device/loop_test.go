package device

import (
	"errors"
	"math"
	"slices"
	"testing"

	"mla/runtime/plan"
)

// begun returns a loop with a vocabulary of 10 after a Pick at a position.
func begun(after uint32, context int) *Loop {
	l := NewLoop(10, context, paged)
	l.Begin([]plan.Row{{Pos: after, NKV: after + 1}}, make([]Pick, 1))
	return &l
}

// paged has a page for every position.
var paged = func() *Tables {
	t := NewTables(1, 1<<10, 1<<10)
	if _, err := t.Assign(0, 0, make([]uint32, 1<<10)); err != nil {
		panic(err)
	}
	return t
}()

// submitted stands for a device that accepts every unit.
func submitted() error { return nil }

// fetch has a token picked and returns it.
func fetch(l *Loop, token uint32) ([]int32, error) {
	return l.Next(func(int) error { return nil }, func(int) []uint32 { return []uint32{token} })
}

// TestLoopPages checks that all rows of all steps have pages.
func TestLoopPages(t *testing.T) {
	tables := NewTables(2, 4, 4)
	for table := range 2 {
		if _, err := tables.Assign(table, 0, []uint32{uint32(table)}); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLoop(10, 4*plan.PageRows, tables)
	l.Begin([]plan.Row{{Pos: 7}, {Pos: plan.PageRows - 4, Table: 1}}, make([]Pick, 2))
	if err := errors.Join(l.Continue(1, 0, submitted), l.Continue(2, 0, submitted)); err != nil {
		t.Errorf("three steps that have a page: %v", err)
	}
	if err := l.Continue(1, 0, submitted); err == nil {
		t.Error("a row is run that has no page")
	}
}

// TestLoopRefuses checks that nothing continues without a Pick, after a Pick that left rows to the host, or
// after Forget.
func TestLoopRefuses(t *testing.T) {
	rows := []plan.Row{{}, {Table: 0, Pos: 1}}
	none := NewLoop(10, 64, paged)
	fewer, logits, forgotten := none, none, *begun(0, 64)
	fewer.Begin(rows, make([]Pick, 1))
	logits.Begin(rows, []Pick{{}, {Row: 1, LogitsOnly: true}})
	forgotten.Forget()
	for name, l := range map[string]*Loop{"no Pick": &none, "a zero loop": {}, "fewer picks": &fewer, "logits only": &logits, "forgotten": &forgotten} {
		if err := l.Continue(1, 0, func() error { t.Errorf("%s: handed to the device", name); return nil }); err == nil {
			t.Errorf("%s: it goes on", name)
		}
	}
}

// TestLoopContinue checks how many steps are granted.
func TestLoopContinue(t *testing.T) {
	const roomy = 4 * MaxAhead
	for _, tt := range []struct {
		name    string
		after   uint32
		context int
		ask     []int // all but the last are granted
		fetch   int   // steps, before the last is asked for
		ok      bool
	}{
		{"none", 0, roomy, []int{0}, 0, false},
		{"less than none", 0, roomy, []int{-1}, 0, false},
		{"the least", 0, roomy, []int{math.MinInt}, 0, false},
		{"the greatest", 0, math.MaxInt, []int{math.MaxInt}, 0, false},
		{"as many as may wait", 0, roomy, []int{MaxAhead}, 0, true},
		{"one more than may wait", 0, roomy, []int{MaxAhead + 1}, 0, false},
		{"as many in units", 0, roomy, []int{MaxAhead - 1, 1}, 0, true},
		{"one more in units", 0, roomy, []int{MaxAhead - 1, 2}, 0, false},
		{"as many as were fetched", 0, roomy, []int{MaxAhead, 3}, 3, true},
		{"one more than were fetched", 0, roomy, []int{MaxAhead, 4}, 3, false},
		{"to the context's end", 2, 7, []int{4}, 0, true}, // after 3 tokens
		{"beyond the context", 2, 7, []int{5}, 0, false},
		{"to the context's end in units", 2, 7, []int{3, 1}, 3, true},
		{"beyond the context in units", 2, 7, []int{3, 2}, 3, false},
		{"beyond 32 bits", math.MaxUint32, math.MaxInt, []int{1}, 0, false},
		{"beyond 32 bits, in a small context", math.MaxUint32, 7, []int{1}, 0, false},
	} {
		l := begun(tt.after, tt.context)
		last := len(tt.ask) - 1
		for i, n := range tt.ask[:last] {
			if err := l.Continue(n, 0, submitted); err != nil {
				t.Errorf("%s: unit %d: %v", tt.name, i, err)
			}
		}
		for range tt.fetch {
			if _, err := fetch(l, 0); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		handed := false
		err := l.Continue(tt.ask[last], 0, func() error { handed = true; return nil })
		if (err == nil) != tt.ok || handed != tt.ok {
			t.Errorf("%s: %v; handed to the device: %t", tt.name, err, handed)
		}
	}
}

// TestLoopContinueFails checks a device that does not accept a unit: nothing waits for this unit.
func TestLoopContinueFails(t *testing.T) {
	l, lost := begun(0, 2*MaxAhead), errors.New("lost")
	if err := l.Continue(MaxAhead, 0, func() error { return lost }); err != lost || l.InFlight() {
		t.Errorf("error %v", err)
	}
	if _, err := fetch(l, 0); err == nil {
		t.Error("tokens of a unit that was not taken")
	}
	if err := l.Continue(MaxAhead, 0, submitted); err != nil {
		t.Error(err)
	}
}

// TestLoopNext checks that Next returns the picked tokens, or an error that says what is wrong with them.
func TestLoopNext(t *testing.T) {
	for _, tt := range []struct {
		picked uint32
		want   int32
		ok     bool
	}{
		{0, 0, true},
		{9, 9, true},
		{10, 0, false}, // the vocabulary's size
		{math.MaxInt32 + 1, 0, false},
		{plan.SampleNone - 1, 0, false},
		{plan.SampleNone, -1, true},
	} {
		l := begun(0, 5)
		if err := l.Continue(1, 0, submitted); err != nil {
			t.Fatal(err)
		}
		if tokens, err := fetch(l, tt.picked); (err == nil) != tt.ok || tt.ok && !slices.Equal(tokens, []int32{tt.want}) {
			t.Errorf("picked %d: %d, %v", tt.picked, tokens, err)
		}
	}
}

// TestLoopNextUnasked checks the error for the tokens of a step that was not requested.
func TestLoopNextUnasked(t *testing.T) {
	none := NewLoop(10, 5, paged)
	fetched, forgotten := begun(0, 5), begun(0, 5)
	if err := errors.Join(fetched.Continue(1, 0, submitted), forgotten.Continue(1, 0, submitted)); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(fetched, 1); err != nil {
		t.Fatal(err)
	}
	forgotten.Forget()
	for name, l := range map[string]*Loop{"no Pick": &none, "none asked for": begun(0, 5), "all fetched": fetched, "forgotten": forgotten} {
		_, err := l.Next(func(int) error { t.Errorf("%s: waits", name); return nil }, func(int) []uint32 { t.Errorf("%s: reads", name); return nil })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLoopNextWaits checks that a failed wait for a step does not lose its tokens.
func TestLoopNextWaits(t *testing.T) {
	l, lost := begun(0, 5), errors.New("lost")
	if err := l.Continue(1, 0, submitted); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(func(int) error { return lost }, func(int) []uint32 { return nil }); err != lost {
		t.Errorf("error %v", err)
	}
	if tokens, err := fetch(l, 7); err != nil || !slices.Equal(tokens, []int32{7}) {
		t.Errorf("%d, %v", tokens, err)
	}
}

// TestLoopTurns checks the ring of turns with units that do not divide it, and that Next waits for the unit
// of each step. A Pick begins with turn 0 again.
func TestLoopTurns(t *testing.T) {
	const unit = 7
	l := begun(0, 3*MaxAhead)
	for range 2 {
		l.Begin(slices.Clone(l.rows), make([]Pick, 1))
		for n := 0; n < 2*MaxAhead; n += unit {
			if err := l.Continue(unit, n, submitted); err != nil {
				t.Fatal(err)
			}
			for i := range unit {
				_, err := l.Next(func(slot int) error {
					if slot != n {
						t.Fatalf("step %d: waits for slot %d; expected %d", n+i, slot, n)
					}
					return nil
				}, func(turn int) []uint32 {
					if want := (n + i + 1) % MaxAhead; turn != want {
						t.Fatalf("step %d: turn %d; expected %d", n+i, turn, want)
					}
					return []uint32{1}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
