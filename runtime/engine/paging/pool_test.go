package paging

import (
	"errors"
	"math"
	"strings"
	"testing"

	"mla/runtime/plan"
)

func TestNewPool(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, MaxPages + 1, math.MaxInt} {
		if _, err := NewPool(n); err == nil {
			t.Errorf("a pool of %d pages", n)
		}
	}
	wantStats(t, newPool(t, MaxPages), Stats{Free: MaxPages})
}

// TestPagesInOrder checks that pages are taken in order, and that the page which was given back last is taken
// first.
func TestPagesInOrder(t *testing.T) {
	p := newPool(t, 4)
	a, _ := p.Open("", nil)
	o, err := a.Reserve(plan.PageRows + 1)
	if err != nil {
		t.Fatal(err)
	}
	wantOrders(t, o, Orders{Pages: []uint32{0, 1}})
	b, _ := p.Open("", nil)
	run(t, b, numbers(0, 1))
	wantTable(t, b, 2)
	wantStats(t, p, Stats{InUse: 3, Free: 1})
	a.Close()
	wantStats(t, p, Stats{InUse: 1, Free: 3})
	if _, err := b.Reserve(2 * plan.PageRows); err != nil {
		t.Fatal(err)
	}
	wantTable(t, b, 2, 0, 1)
}

func TestOutOfPagesChangesNothing(t *testing.T) {
	for _, n := range []int{2 * plan.PageRows, 4 * plan.PageRows, math.MaxInt} {
		p := newPool(t, 3)
		held := prompted(t, p, numbers(0, plan.PageRows))
		cached := prompted(t, p, numbers(1000, plan.PageRows))
		cached.Close()
		s := prompted(t, p, numbers(2000, 1))
		before := p.Stats()
		o, err := s.Reserve(n)
		var out *OutOfPages
		if !errors.As(err, &out) || out.Available != 1 || out.Total != 3 || out.Needed < 2 {
			t.Fatalf("%d: %v", n, err)
		}
		wantOrders(t, o, Orders{})
		wantTable(t, s, 2)
		wantTable(t, held, 0)
		if p.Stats() != before || s.Capacity() != plan.PageRows-1 {
			t.Errorf("%d: %+v, then %+v; room %d", n, before, p.Stats(), s.Capacity())
		}
		if _, err := s.Reserve(2*plan.PageRows - 1); err != nil {
			t.Errorf("the cached page was not evicted: %v", err)
		}
		wantTable(t, s, 2, 1)
		consistent(t, p)
	}
	text := (&OutOfPages{Needed: 5, Available: 2, Total: 100}).Error()
	if want := "out of pages: 5 more needed, 2 of 100 available (a page holds 64 tokens)"; !strings.Contains(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestEvictionOrder checks that the least recently used page is evicted first, and within a sequence its last
// page.
func TestEvictionOrder(t *testing.T) {
	p := newPool(t, 5)
	a := prompted(t, p, numbers(0, 2*plan.PageRows))    // pages 0, 1
	b := prompted(t, p, numbers(1000, 2*plan.PageRows)) // pages 2, 3
	c := prompted(t, p, numbers(2000, plan.PageRows))   // page 4
	b.Close()
	a.Close()
	c.Close()
	again, _ := p.Open("", numbers(1000, plan.PageRows+1)) // page 2 is in use again
	wantTable(t, again, 2)
	wantStats(t, p, Stats{InUse: 1, Cached: 4, Hits: plan.PageRows, Misses: 5 * plan.PageRows})
	again.Close() // page 2 is now the youngest
	s, _ := p.Open("", nil)
	for i, want := range []uint32{3, 1, 0, 4, 2} {
		if _, err := s.Reserve((i + 1) * plan.PageRows); err != nil {
			t.Fatal(err)
		}
		if got := s.Table()[i]; got != want {
			t.Fatalf("eviction %d: page %d, want %d", i, got, want)
		}
		consistent(t, p)
	}
	wantStats(t, p, Stats{InUse: 5, Hits: plan.PageRows, Misses: 5 * plan.PageRows, Evicted: 5})
}

// TestStats checks the counters of a pool.
func TestStats(t *testing.T) {
	p := newPool(t, 10)
	prompt := numbers(0, 2*plan.PageRows+10)
	a := prompted(t, p, prompt)
	wantStats(t, p, Stats{InUse: 3, Free: 7, Misses: 138})
	run(t, a, numbers(500, 3)) // generated: neither found nor missed
	b, _ := p.Open("", prompt)
	wantStats(t, p, Stats{InUse: 3, Free: 7, Shared: 2, Hits: 128, Misses: 138})
	run(t, b, prompt[b.Len():b.Len()+4]) // a piece of the prompt
	wantStats(t, p, Stats{InUse: 4, Free: 6, Shared: 2, Hits: 128, Misses: 142})
	if _, err := b.Reuse(prompt[b.Len():]); err != nil { // in vain: counted once
		t.Fatal(err)
	}
	run(t, b, prompt[b.Len():])
	run(t, b, numbers(600, 3))
	wantStats(t, p, Stats{InUse: 4, Free: 6, Shared: 2, Hits: 128, Misses: 148})
	c, _ := p.Open("", numbers(700, 20))
	if err := c.Truncate(0); err != nil { // the prompt is given up
		t.Fatal(err)
	}
	run(t, c, numbers(800, 3))
	c.Close()
	d, _ := p.Open("", prompt[:plan.PageRows+1])
	run(t, d, prompt[plan.PageRows:plan.PageRows+1])
	run(t, d, numbers(900, 3))
	d.Close()
	a.Close()
	wantStats(t, p, Stats{InUse: 3, Free: 7, Hits: 192, Misses: 149})
	b.Close()
	wantStats(t, p, Stats{Cached: 2, Free: 8, Hits: 192, Misses: 149})
}
