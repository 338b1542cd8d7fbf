package device

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"mla/runtime/plan"
)

// begun is a chain of a vocabulary of 10 behind a Replay at a position.
func begun(t *testing.T, after uint32, context int) *Chain {
	t.Helper()
	c := NewChain(10, context, paged)
	if err := c.Begin(&plan.Row{Pos: after}, nothing); err != nil {
		t.Fatal(err)
	}
	return &c
}

func nothing() error { return nil }

// paged has a page for every position.
var paged = func() *Tables {
	t := NewTables(1, 1<<10, 1<<10)
	if _, err := t.Assign(0, 0, make([]uint32, 1<<10)); err != nil {
		panic(err)
	}
	return t
}()

// TestChainPages: tokens that are run have pages; the last one is only picked.
func TestChainPages(t *testing.T) {
	tables := NewTables(2, 4, 4)
	if _, err := tables.Assign(1, 0, []uint32{2}); err != nil {
		t.Fatal(err)
	}
	c := NewChain(10, 4*plan.PageRows, tables)
	if err := c.Begin(&plan.Row{Pos: plan.PageRows - 3, Table: 1}, nothing); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Ahead(1, submitted), c.Ahead(2, submitted)); err != nil {
		t.Errorf("two tokens that have a page, and one behind them: %v", err)
	}
	if err := c.Ahead(1, submitted); err == nil {
		t.Error("a token is run that has no page")
	}
}

// submitted is a device that takes whatever it is handed.
func submitted(bool) error { return nil }

// fetch has a token picked and returns it.
func fetch(c *Chain, token uint32) (int32, error) {
	return c.Next(func() error { c.Picked(1); return nil }, func(int) uint32 { return token })
}

// TestChainBegin refuses to begin, and leaves no chain behind.
func TestChainBegin(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		name  string
		chain Chain
		last  *plan.Row
		start func() error
		is    error // that the error is; nil: any
	}{
		{"no kernels", Chain{}, &plan.Row{}, nothing, ErrSampling},
		{"no logits", NewChain(10, 5, paged), nil, nothing, nil},
		{"no start", NewChain(10, 5, paged), &plan.Row{}, func() error { return lost }, lost},
	} {
		c := tt.chain
		err := c.Begin(tt.last, tt.start)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || tt.is != ErrSampling && errors.Is(err, ErrSampling) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if c != tt.chain || c.Ahead(1, submitted) == nil {
			t.Errorf("%s: a chain has begun: %+v", tt.name, c)
		}
	}
}

// TestChainAhead asks for tokens until the last of them is too many, or is not.
func TestChainAhead(t *testing.T) {
	const roomy = 4 * MaxAhead
	for _, tt := range []struct {
		name    string
		after   uint32
		context int
		ask     []int // all but the last are granted
		fetch   int   // tokens, before the last is asked for
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
		// The last token of a chain is not run: behind 3 tokens, 5 of 7 positions are left.
		{"to the context's end", 2, 7, []int{5}, 0, true},
		{"beyond the context", 2, 7, []int{6}, 0, false},
		{"to the context's end in units", 2, 7, []int{3, 2}, 3, true},
		{"beyond the context in units", 2, 7, []int{3, 3}, 3, false},
		{"behind the last position of 32 bits, without pages", math.MaxUint32, 1 << 32, []int{1}, 0, false},
		{"beyond 32 bits, in a small context", math.MaxUint32, 7, []int{1}, 0, false},
	} {
		c := begun(t, tt.after, tt.context)
		last := len(tt.ask) - 1
		for i, n := range tt.ask[:last] {
			err := c.Ahead(n, func(first bool) error {
				if first != (i == 0) {
					t.Errorf("%s: unit %d begins the chain: %t", tt.name, i, first)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: unit %d: %v", tt.name, i, err)
			}
		}
		for range tt.fetch {
			if _, err := fetch(c, 0); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		handed := false
		err := c.Ahead(tt.ask[last], func(bool) error { handed = true; return nil })
		if (err == nil) != tt.ok || handed != tt.ok {
			t.Errorf("%s: %v; handed to the device: %t", tt.name, err, handed)
		}
	}
}

// TestChainAheadFails has a device that does not take a unit: it is not waited for,
// and the next one still begins the chain.
func TestChainAheadFails(t *testing.T) {
	c, lost := begun(t, 0, MaxAhead), errors.New("lost")
	if err := c.Ahead(MaxAhead, func(bool) error { return lost }); err != lost {
		t.Errorf("error %v", err)
	}
	if _, err := fetch(c, 0); err == nil {
		t.Error("a token of a unit that was not taken")
	}
	first := false
	if err := c.Ahead(MaxAhead, func(f bool) error { first = f; return nil }); err != nil || !first {
		t.Errorf("begins the chain: %t, %v", first, err)
	}
}

// TestChainNext returns what the device picked, or says what is wrong with it.
func TestChainNext(t *testing.T) {
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
		c := begun(t, 0, 5)
		if err := c.Ahead(2, submitted); err != nil {
			t.Fatal(err)
		}
		if token, err := fetch(c, tt.picked); token != tt.want || (err == nil) != tt.ok {
			t.Errorf("picked %d: %d, %v", tt.picked, token, err)
		}
		// Nothing follows -1, whatever the device has picked behind it.
		if token, err := fetch(c, 3); err != nil || tt.want == -1 && token != -1 || tt.want != -1 && token != 3 {
			t.Errorf("behind %d: %d, %v", tt.picked, token, err)
		}
	}
}

// TestChainNextUnasked wants a token that nobody asked for.
func TestChainNextUnasked(t *testing.T) {
	none := NewChain(10, 5, paged)
	fetched := begun(t, 0, 5)
	if err := fetched.Ahead(1, submitted); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(fetched, 1); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Chain{"no chain": &none, "none asked for": begun(t, 0, 5), "all fetched": fetched} {
		_, err := c.Next(func() error { t.Errorf("%s: waits", name); return nil }, func(int) uint32 { t.Errorf("%s: reads", name); return 0 })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestChainNextWaits fails to wait for a token, which is not lost by that.
func TestChainNextWaits(t *testing.T) {
	c, lost := begun(t, 0, 5), errors.New("lost")
	if err := c.Ahead(1, submitted); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(func() error { return lost }, func(int) uint32 { return 0 }); err != lost {
		t.Errorf("error %v", err)
	}
	if token, err := fetch(c, 7); err != nil || token != 7 {
		t.Errorf("%d, %v", token, err)
	}
}

// TestChainPlaces goes around the ring of picks, in units that do not divide it.
func TestChainPlaces(t *testing.T) {
	const unit = 7
	var picks [plan.SamplePicks]uint32
	c := begun(t, 0, 3*plan.SamplePicks)
	for n := 0; n < 2*plan.SamplePicks; n += unit {
		if err := c.Ahead(unit, submitted); err != nil {
			t.Fatal(err)
		}
		first := c.Picked(unit)
		for i := range unit {
			picks[(first+i)%len(picks)] = uint32(n+i) % 10
		}
		for i := range unit {
			token, err := c.Next(nothing, func(place int) uint32 { return picks[place] })
			if want := int32((n + i) % 10); err != nil || token != want {
				t.Fatalf("token %d is %d, %v; expected %d", n+i, token, err, want)
			}
		}
	}
}

// TestChainWait waits for units, oldest first, as long as there is no token to fetch.
func TestChainWait(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		name  string
		picks [4]int // of the units in the slots
		there int    // tokens that are there before
		fail  int    // slot whose unit fails; -1: none does
		want  []int  // slots waited for; the oldest is 2
		err   error
	}{
		{"the oldest picks", [4]int{1, 1, 1, 1}, 0, -1, []int{2}, nil},
		{"others before it", [4]int{1, 1, 0, 0}, 0, -1, []int{2, 3, 0}, nil},
		{"none picks", [4]int{}, 0, -1, []int{2, 3, 0, 1}, nil},
		{"a token is there", [4]int{1, 1, 1, 1}, 1, -1, nil, nil},
		{"one fails", [4]int{1, 1, 0, 0}, 0, 3, []int{2, 3}, lost},
	} {
		c := begun(t, 0, 5)
		c.Picked(tt.there)
		var waited []int
		filling := true
		q := NewQueue(len(tt.picks), func(slot int) (time.Duration, error) {
			if filling {
				return 0, nil
			}
			waited = append(waited, slot)
			if slot == tt.fail {
				return 0, lost
			}
			c.Picked(tt.picks[slot])
			return 0, nil
		})
		for range 2 + len(tt.picks) { // the oldest is in slot 2
			if _, err := q.Slot(); err != nil {
				t.Fatal(err)
			}
			q.Submit()
		}
		filling = false
		err := c.Wait(&q)
		if err != tt.err || !slices.Equal(waited, tt.want) {
			t.Errorf("%s: waited for the slots %d, %v; expected %d, %v", tt.name, waited, err, tt.want, tt.err)
		}
	}
}

// TestChainEnd forgets a chain with tokens in flight, also if waiting for them fails,
// and begins another as if there had been none.
func TestChainEnd(t *testing.T) {
	for _, lost := range []error{nil, errors.New("lost")} {
		c := begun(t, 3, 5)
		if err := c.Ahead(2, submitted); err != nil {
			t.Fatal(err)
		}
		drained := 0
		drain := func() error { drained++; return lost }
		if err := c.End(drain); err != lost || drained != 1 {
			t.Errorf("%v, drained %d times; expected %v, once", err, drained, lost)
		}
		if err := c.End(drain); err != nil || drained != 1 {
			t.Errorf("an end without a chain: %v, drained %d times", err, drained)
		}
		if c.Ahead(1, submitted) == nil {
			t.Error("a chain goes on after its end")
		}
		if err := c.Begin(&plan.Row{}, nothing); err != nil || *c != *begun(t, 0, 5) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}
