package paging

import (
	"errors"
	"math"
	"slices"
	"testing"

	"mla/runtime/plan"
)

// TestOpen checks how much of a prompt Open finds in the cache.
func TestOpen(t *testing.T) {
	held := numbers(0, 3*plan.PageRows)
	tests := []struct {
		name   string
		prompt []int32
		len    int
		table  []uint32
	}{
		{"nothing", nil, 0, nil},
		{"one token", held[:1], 0, nil},
		{"another text", numbers(1, 200), 0, nil},
		{"inside the first page", held[:10], 0, nil},
		{"a page", held[:plan.PageRows], 0, nil},
		{"a page and a token", held[:plan.PageRows+1], plan.PageRows, []uint32{0}},
		{"a page and two tokens", held[:plan.PageRows+2], plan.PageRows, []uint32{0}},
		{"differs inside the first page", slices.Concat(held[:63], numbers(900, 100)), 0, nil},
		{"differs inside the second page", slices.Concat(held[:127], numbers(900, 100)), 64, []uint32{0}},
		{"differs after the second page", slices.Concat(held[:128], numbers(900, 100)), 128, []uint32{0, 1}},
		{"the same", held, 2 * plan.PageRows, []uint32{0, 1}},
		{"longer", numbers(0, 1000), 3 * plan.PageRows, []uint32{0, 1, 2}},
	}
	for _, closed := range []bool{false, true} {
		for _, test := range tests {
			p := newPool(t, 8)
			s := prompted(t, p, held)
			if closed {
				s.Close()
			}
			got, o := p.Open("", test.prompt)
			if got.Len() != test.len || !slices.Equal(got.Tokens(), test.prompt[:test.len]) {
				t.Errorf("%s: %d tokens, want %d", test.name, got.Len(), test.len)
			}
			wantTable(t, got, test.table...)
			wantOrders(t, o, Orders{Pages: test.table})
			if got.Capacity() != 0 {
				t.Errorf("%s: room for %d without Reserve", test.name, got.Capacity())
			}
			consistent(t, p)
		}
	}
}

// TestCopyOnWrite checks that a sequence which writes inside another sequence's page gets a new page and an
// order to copy the rows before.
func TestCopyOnWrite(t *testing.T) {
	p := newPool(t, 8)
	a := prompted(t, p, numbers(0, 2*plan.PageRows)) // pages 0, 1
	b, _, err := a.Fork()
	if err == nil {
		err = b.Truncate(99)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantTable(t, b, 0, 1)
	o, err := b.Reserve(plan.PageRows)
	if err != nil {
		t.Fatal(err)
	}
	// 99 + 64 tokens: the rest of a copy of page 1, and a page after it.
	wantOrders(t, o, Orders{Copies: []Copy{{From: 1, To: 3, Rows: 99 - plan.PageRows}}, First: 1, Pages: []uint32{3, 2}})
	wantTable(t, a, 0, 1)
	if o, err = b.Reserve(plan.PageRows); err != nil || o.Copies != nil || o.Pages != nil {
		t.Errorf("reserved twice: %+v, %v", o, err)
	}
	wantStats(t, p, Stats{InUse: 4, Free: 4, Shared: 1, Misses: 128})
}

// TestReserve checks the number of pages for each length.
func TestReserve(t *testing.T) {
	for _, test := range []struct{ have, n, pages int }{
		{0, 0, 0}, {0, 1, 1}, {0, 64, 1}, {0, 65, 2}, {0, 320, 5},
		{63, 0, 1}, {63, 1, 1}, {63, 2, 2}, {63, 65, 2}, {63, 66, 3},
		{64, 0, 1}, {64, 1, 2}, {64, 64, 2}, {64, 256, 5},
	} {
		p := newPool(t, 5)
		s := prompted(t, p, numbers(0, test.have))
		if _, err := s.Reserve(test.n); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		if len(s.Table()) != test.pages || s.Capacity() != test.pages*plan.PageRows-test.have {
			t.Errorf("%+v: %d pages, room for %d", test, len(s.Table()), s.Capacity())
		}
	}
	p := newPool(t, 5)
	s := prompted(t, p, numbers(0, 60))
	for _, n := range []int{5*plan.PageRows - 59, math.MaxInt - 60, math.MaxInt} {
		_, err := s.Reserve(n)
		wantOutOfPages(t, err, OutOfPages{Needed: (n-4-1)/plan.PageRows + 1, Available: 4, Total: 5})
	}
	if _, err := s.Reserve(-1); err == nil {
		t.Error("room for -1 tokens")
	}
}

func TestAppendNeedsRoom(t *testing.T) {
	p := newPool(t, 5)
	s, _ := p.Open("", nil)
	if _, err := s.Append(numbers(0, 1)); err == nil {
		t.Error("appended without Reserve")
	}
	if _, err := s.Reserve(3); err != nil { // a page
		t.Fatal(err)
	}
	if _, err := s.Append(numbers(0, plan.PageRows+1)); err == nil || s.Len() != 0 {
		t.Error("appended more than a page to a page")
	}
	run(t, s, numbers(0, plan.PageRows))
	if _, err := s.Append(numbers(0, 1)); err == nil {
		t.Error("appended after the last page")
	}
	if _, err := s.Append(nil); err != nil {
		t.Error(err)
	}
}

// TestSameTokensMeet checks that sequences which run the same tokens at the same time end with the same full
// pages.
func TestSameTokensMeet(t *testing.T) {
	p := newPool(t, 10)
	tokens := numbers(0, 3*plan.PageRows+1)
	a, _ := p.Open("", tokens)
	b, _ := p.Open("", tokens)
	for _, s := range []*Sequence{a, b} {
		if _, err := s.Reserve(len(tokens)); err != nil {
			t.Fatal(err)
		}
	}
	wantStats(t, p, Stats{InUse: 8, Free: 2})
	if o, err := a.Append(tokens); err != nil {
		t.Fatal(err)
	} else {
		wantOrders(t, o, Orders{})
	}
	o, err := b.Append(tokens[:plan.PageRows/2])
	if err != nil {
		t.Fatal(err)
	}
	wantOrders(t, o, Orders{})
	if o, err = b.Append(tokens[plan.PageRows/2:]); err != nil {
		t.Fatal(err)
	}
	wantOrders(t, o, Orders{Pages: []uint32{0, 1, 2}})
	wantTable(t, b, 0, 1, 2, 7)
	wantStats(t, p, Stats{InUse: 5, Free: 5, Shared: 3, Misses: 2 * int64(len(tokens))})
}

// TestReuse checks that a prompt which runs in pieces takes over pages that another sequence has run in the
// meantime.
func TestReuse(t *testing.T) {
	p := newPool(t, 10)
	tokens := numbers(0, 3*plan.PageRows)
	a, _ := p.Open("", tokens)
	b, _ := p.Open("", tokens)
	run(t, b, tokens[:10])
	run(t, a, tokens)
	if _, err := b.Reserve(1); err != nil {
		t.Fatal(err)
	}
	if o, err := b.Reuse(tokens[10:]); err != nil {
		t.Fatal(err)
	} else {
		wantOrders(t, o, Orders{Pages: a.Table()[:2]})
	}
	if want := tokens[:2*plan.PageRows]; !slices.Equal(b.Tokens(), want) {
		t.Errorf("%d tokens, want %d", b.Len(), len(want))
	}
	wantStats(t, p, Stats{InUse: 3, Free: 7, Shared: 2, Hits: 2*plan.PageRows - 10, Misses: 3*plan.PageRows + 10})
	// Nothing to be found leaves the sequence as it is.
	for _, next := range [][]int32{nil, tokens[2*plan.PageRows:], {7, 7}} {
		if o, err := b.Reuse(next); err != nil || o.Pages != nil || b.Len() != 2*plan.PageRows {
			t.Errorf("%v: %+v, %v, %d tokens", next, o, err, b.Len())
		}
	}
}

func TestTruncate(t *testing.T) {
	tokens := numbers(0, 2*plan.PageRows+10)
	for _, test := range []struct {
		n      int
		table  []uint32
		copies []Copy // by the next Reserve
	}{
		{138, []uint32{0, 1, 2}, nil},
		{130, []uint32{0, 1, 2}, nil},
		{128, []uint32{0, 1}, nil},
		{127, []uint32{0, 1}, []Copy{{1, 2, 63}}},
		{65, []uint32{0, 1}, []Copy{{1, 2, 1}}},
		{64, []uint32{0}, nil},
		{1, []uint32{0}, []Copy{{0, 2, 1}}},
		{0, nil, nil},
	} {
		p := newPool(t, 4)
		s := prompted(t, p, tokens)
		if err := s.Truncate(test.n); err != nil {
			t.Fatal(err)
		}
		wantTable(t, s, test.table...)
		if !slices.Equal(s.Tokens(), tokens[:test.n]) || s.Capacity() != 0 {
			t.Errorf("%d: %d tokens, room for %d", test.n, s.Len(), s.Capacity())
		}
		consistent(t, p)
		o, err := s.Reserve(1)
		if err != nil || !slices.Equal(o.Copies, test.copies) {
			t.Errorf("%d: %+v, %v; want copies %v", test.n, o, err, test.copies)
		}
		consistent(t, p)
	}
	s := prompted(t, newPool(t, 4), tokens)
	for _, n := range []int{-1, len(tokens) + 1, math.MinInt, math.MaxInt} {
		if err := s.Truncate(n); err == nil || s.Len() != len(tokens) {
			t.Errorf("truncated to %d: %v", n, err)
		}
	}
}

// TestTruncateFullPool checks that a single session whose tokens fill the pool can always be rewound and
// continue, although there is no page for a copy.
func TestTruncateFullPool(t *testing.T) {
	for n := range 3*plan.PageRows + 1 {
		p := newPool(t, 3)
		s := prompted(t, p, numbers(0, 3*plan.PageRows))
		if err := s.Truncate(n); err != nil {
			t.Fatal(err)
		}
		run(t, s, numbers(1000, 3*plan.PageRows-n))
		if _, err := s.Reserve(1); err == nil {
			t.Fatalf("%d: more tokens than the pool has rows", n)
		}
		s.Close()
		consistent(t, p)
	}
}

// TestTailOfAnother checks that a sequence never takes over the last page of a text while another sequence
// holds that page.
func TestTailOfAnother(t *testing.T) {
	p := newPool(t, 1)
	a := prompted(t, p, numbers(0, plan.PageRows))
	b, _, err := a.Fork()
	if err == nil {
		err = b.Truncate(9)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Reserve(1)
	wantOutOfPages(t, err, OutOfPages{Needed: 1, Available: 0, Total: 1})
	a.Close()
	run(t, b, numbers(100, 1))
	wantTable(t, b, 0)
	wantStats(t, p, Stats{InUse: 1, Misses: plan.PageRows, Evicted: 1})
}

// TestFork checks that every continuation except the last one to write copies the partly filled page.
func TestFork(t *testing.T) {
	p := newPool(t, 10)
	a := prompted(t, p, numbers(0, plan.PageRows+5)) // pages 0, 1
	if _, err := a.Reserve(plan.PageRows); err != nil {
		t.Fatal(err)
	}
	var forks []*Sequence
	for range 2 {
		f, o, err := a.Fork()
		if err != nil {
			t.Fatal(err)
		}
		wantOrders(t, o, Orders{Pages: []uint32{0, 1}})
		forks = append(forks, f)
	}
	if a.Capacity() != 0 {
		t.Error("room in a page that others hold")
	}
	wantStats(t, p, Stats{InUse: 2, Free: 8, Shared: 2, Misses: plan.PageRows + 5})
	for i, s := range []*Sequence{forks[0], a, forks[1]} {
		o, _ := run(t, s, numbers(1000*i, 1))
		if copied := len(o.Copies) == 1 && o.Copies[0].From == 1 && o.Copies[0].Rows == 5; copied != (i < 2) {
			t.Errorf("%d: %+v", i, o)
		}
		if want := append(numbers(0, plan.PageRows+5), int32(1000*i)); !slices.Equal(s.Tokens(), want) {
			t.Errorf("%d: tokens %v", i, s.Tokens()[plan.PageRows:])
		}
	}
	wantStats(t, p, Stats{InUse: 4, Free: 6, Shared: 1, Misses: plan.PageRows + 5})
}

func TestClose(t *testing.T) {
	p := newPool(t, 4)
	s := prompted(t, p, numbers(0, plan.PageRows+1))
	s.Close()
	s.Close()
	wantStats(t, p, Stats{Cached: 1, Free: 3, Misses: plan.PageRows + 1})
	_, reserve := s.Reserve(1)
	_, add := s.Append(nil)
	_, reuse := s.Reuse(numbers(0, 100))
	_, _, fork := s.Fork()
	for i, err := range []error{reserve, add, reuse, fork, s.Truncate(0)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if s.Len() != 0 || s.Capacity() != 0 || len(s.Table()) != 0 || len(s.Tokens()) != 0 {
		t.Error("a closed sequence holds something")
	}
	consistent(t, p)
}

// TestSixteenSessions checks that 16 sessions after the same 4,096 tokens hold the 64 pages of these tokens
// once, whether the sessions come one after the other or all at once.
func TestSixteenSessions(t *testing.T) {
	const sessions, common, own = 16, 4096, 10
	prompt := func(i int) []int32 { return slices.Concat(numbers(0, common), numbers(10_000*(i+1), own)) }
	want := Stats{InUse: common/plan.PageRows + sessions, Shared: common / plan.PageRows}

	p := newPool(t, 2000)
	for i := range sessions {
		prompted(t, p, prompt(i))
	}
	want.Free = 2000 - want.InUse
	want.Hits, want.Misses = (sessions-1)*common, common+sessions*own
	wantStats(t, p, want)

	p = newPool(t, 2000)
	var all []*Sequence
	for i := range sessions {
		s, _ := p.Open("", prompt(i))
		if _, err := s.Reserve(common + own); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for i, s := range all {
		if _, err := s.Append(prompt(i)); err != nil {
			t.Fatal(err)
		}
	}
	want.Hits, want.Misses = 0, sessions*(common+own)
	wantStats(t, p, want)
}

// TestScopes checks that a scope's pages are found within the scope only, until the last of them is evicted.
func TestScopes(t *testing.T) {
	p := newPool(t, 8)
	tokens := numbers(0, 2*plan.PageRows+1)
	open := func(scope string) *Sequence {
		s, _ := p.Open(scope, tokens)
		consistent(t, p)
		return s
	}
	a := open("alice")
	run(t, a, tokens)
	a.Close()
	for _, c := range []struct {
		scope string
		found int
	}{{"", 0}, {"bob", 0}, {"alic", 0}, {"alice", 2 * plan.PageRows}} {
		s := open(c.scope)
		if s.Len() != c.found {
			t.Errorf("scope %q found %d tokens; expected %d", c.scope, s.Len(), c.found)
		}
		s.Close()
		consistent(t, p)
	}
	// A fork has the scope of its sequence, and keeps the tree.
	b := open("bob")
	f, _, err := b.Fork()
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	run(t, f, tokens)
	f.Close()
	if s := open("bob"); s.Len() != 2*plan.PageRows {
		t.Errorf("what a fork has run: %d tokens were found", s.Len())
	} else {
		s.Close()
	}
	// Eviction knows no scopes, and a tree without pages goes.
	all, _ := p.Open("", nil)
	if _, err := all.Reserve(8 * plan.PageRows); err != nil {
		t.Fatal(err)
	}
	all.Close()
	if len(p.roots) != 0 {
		t.Errorf("%d trees of an empty pool", len(p.roots))
	}
	consistent(t, p)
}
