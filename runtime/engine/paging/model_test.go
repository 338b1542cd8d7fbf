package paging

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mla/runtime/plan"
	"mla/tools/tests/deep"
)

// contents returns an error unless the device holds the rows of all sessions and of the tree.
func (w *world) contents() error {
	w.device.flush()
	for _, s := range w.sessions {
		if err := w.device.attend(s.Sequence, s.tokens); err != nil {
			return err
		}
	}
	for _, root := range w.pool.roots {
		if err := w.device.tree(root, 0); err != nil {
			return err
		}
	}
	return nil
}

// nodes returns the nodes of the tree.
func (w *world) nodes() (out []*node) {
	var walk func(n *node)
	walk = func(n *node) {
		for _, c := range n.children {
			out = append(out, c)
			walk(c)
		}
	}
	for _, root := range w.pool.roots {
		walk(root)
	}
	return out
}

// stamp records which nodes are in use now.
func (w *world) stamp() {
	for _, n := range w.nodes() {
		if w.pool.pages[n.page].sequences > 0 {
			w.used[n] = w.now
		}
	}
}

// evictions returns an error unless the evicted nodes are the least recently used ones and are counted.
func (w *world) evictions(before []*node, then Stats) error {
	stays := map[*node]bool{}
	oldest := w.now
	for _, n := range w.nodes() {
		stays[n] = true
		oldest = min(oldest, w.used[n])
	}
	gone := 0
	for _, n := range before {
		if stays[n] {
			continue
		}
		gone++
		if w.used[n] > oldest {
			return fmt.Errorf("page %d, used at %d, was evicted before one used at %d", n.page, w.used[n], oldest)
		}
		delete(w.used, n)
	}
	now := w.pool.Stats()
	if now.InUse+now.Cached+now.Free != w.pool.total || now.Cached < 0 || now.Free < 0 || len(stays) > w.pool.total {
		return fmt.Errorf("%d nodes, %d pages: %+v", len(stays), w.pool.total, now)
	}
	if got := now.Evicted - then.Evicted; got != int64(gone) {
		return fmt.Errorf("%d evictions are counted, %d nodes went", got, gone)
	}
	return nil
}

// schedule makes n random operations, then closes all sessions and fills the pool, so that a lost page is
// noticed.
func schedule(choose chooser, n int) (w *world, err error) {
	w = newWorld(choose)
	for i := range n {
		if err := w.do(); err != nil {
			return w, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	if err := w.contents(); err != nil {
		return w, err
	}
	for len(w.sessions) > 0 {
		if err := w.close(); err != nil {
			return w, err
		}
	}
	s, _ := w.pool.Open("", nil)
	if _, err := s.Reserve(w.pool.total * plan.PageRows); err != nil {
		return w, fmt.Errorf("after all sessions: %w", err)
	}
	return w, w.pool.Invariants()
}

var seed = flag.Uint64("seed", 0, "the seed of TestSchedules' first schedule (default: of this moment)")

// TestSchedules checks random schedules against sessions that share nothing. Each schedule has its own seed,
// which a failure prints for -seed.
func TestSchedules(t *testing.T) {
	schedules, first := 4000, *seed
	if !deep.On {
		schedules = 1000
	}
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds from %d", first)
	var total Stats
	refused := 0
	for i := range uint64(schedules) {
		seed := first + i
		r := rand.New(rand.NewPCG(seed, 0))
		w, err := schedule(r.IntN, 60)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := w.pool.Stats()
		total.Hits, total.Misses, total.Evicted = total.Hits+s.Hits, total.Misses+s.Misses, total.Evicted+s.Evicted
		refused += w.refused
	}
	t.Logf("%d schedules: %d tokens found, %d not, %d pages evicted, out of pages %d times",
		schedules, total.Hits, total.Misses, total.Evicted, refused)
	if least := int64(schedules); total.Hits < least || total.Misses < least || total.Evicted < least || refused < schedules {
		t.Error("the schedules do too little of something")
	}
}

// TestSameScheduleSamePages checks that nothing depends on time or on the order of a map.
func TestSameScheduleSamePages(t *testing.T) {
	for seed := range uint64(20) {
		var tables [2]string
		for i := range tables {
			w := newWorld(rand.New(rand.NewPCG(seed, 1)).IntN)
			for range 60 {
				if err := w.do(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, s := range w.sessions {
					tables[i] += fmt.Sprint(s.Table())
				}
			}
		}
		if tables[0] != tables[1] {
			t.Errorf("seed %d: other pages the second time", seed)
		}
	}
}

// FuzzSchedule checks schedules that the fuzzer chooses.
func FuzzSchedule(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 0, 800)
		for len(data) < 800 {
			data = binary.LittleEndian.AppendUint64(data, r.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		choose := func(n int) int {
			if len(data) < 2 {
				return 0
			}
			v := binary.LittleEndian.Uint16(data)
			data = data[2:]
			return int(v) % n
		}
		if _, err := schedule(choose, min(len(data)/8, 200)); err != nil {
			t.Fatal(err)
		}
	})
}
