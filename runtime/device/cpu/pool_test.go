package cpu

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// chain records links dispatches that each double a vector, in place or from
// one buffer to the next, and returns the runner and where the result lies.
func chain(t *testing.T, threads, links int) (*rig, *runner) {
	const n = 8 << 10 // several chunks
	rg := newRig(t, 20)
	first, _ := rg.buffer(plan.ElemF32, true, rg.normal(n, 1))
	rg.kernel.Parts = []plan.Part{&plan.AddVec{A: plan.Vec{Slot: 0}, B: plan.Vec{Slot: 0}, Out: plan.Vec{Slot: 1}, Dim: n, RowsPerGroup: 8}}
	rg.slot(plan.Slot{Space: plan.SpaceArena, Elem: plan.ElemF32, Write: true}, rg.ops[first])
	rg.finish = func(b *plan.Bundle) {
		d := b.Decode().Dispatches[0]
		d.Barrier = true
		b.Decode().Dispatches = nil
		for range links {
			b.Decode().Dispatches = append(b.Decode().Dispatches, d)
		}
		b.Decode().Head = links
	}
	r, err := rg.record(threads)
	if err != nil {
		t.Fatal(err)
	}
	return rg, r
}

// TestChain counts on barriers: a link that runs before its predecessor is done
// doubles too little.
func TestChain(t *testing.T) {
	const links, tokens = 10, 6
	for _, threads := range []int{1, 2, 3, 8} {
		rg, r := chain(t, threads, links)
		start := rg.read(r, 0, 8<<10)
		for range tokens {
			if _, err := r.Replay([]plan.Row{{NKV: 1}}, device.All(1)); err != nil {
				t.Fatal(err)
			}
		}
		got := rg.read(r, 0, 8<<10)
		for i := range start {
			start[i] *= 1 << (links * tokens)
		}
		check(t, fmt.Sprintf("%d workers", threads), got, start, 0)
	}
}

// TestParking gives the workers time to go to sleep between tokens, and has
// several runners compete for the cores.
func TestParking(t *testing.T) {
	var wg sync.WaitGroup
	for range 3 {
		_, r := chain(t, 4, 3)
		wg.Go(func() {
			for range 5 {
				if _, err := r.Replay([]plan.Row{{NKV: 1}}, device.All(1)); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Millisecond)
			}
			r.Close()
		})
	}
	wg.Wait()
}

func TestReplayAllocatesNothing(t *testing.T) {
	r, err := every(t).record(1)
	if err != nil {
		t.Fatal(err)
	}
	pos, rows := uint32(0), make([]plan.Row, 1)
	replay := func() {
		rows[0] = plan.Row{Token: 1, Pos: pos % 8, NKV: pos%8 + 1}
		if _, err := r.Replay(rows, device.All(len(rows))); err != nil {
			t.Error(err)
		}
		pos++
	}
	if n := testing.AllocsPerRun(20, replay); n != 0 {
		t.Errorf("every part: %g allocations per token", n)
	}
	for threads := 1; threads <= 3; threads++ {
		_, r := chain(t, threads, 5)
		rows := []plan.Row{{NKV: 1}}
		if n := testing.AllocsPerRun(50, func() { r.Replay(rows, device.All(len(rows))) }); n != 0 {
			t.Errorf("%d workers: %g allocations per token", threads, n)
		}
	}
}

func TestCut(t *testing.T) {
	kernels := []kernel{&addVec{split: split{rows: 1 << 20, perGroup: 1, groups: 1 << 20}}, &attend{latentHeads: latentHeads{blocks: 2}, splits: plan.Splits{Count: 3}}}
	for workers := 1; workers <= 64; workers *= 2 {
		ph, err := cut(kernels, workers)
		if err != nil {
			t.Fatal(err)
		}
		next := map[kernel]int{}
		for _, c := range ph {
			if c.lo != next[c.kernel] || c.hi <= c.lo {
				t.Fatalf("chunk [%d, %d) after %d", c.lo, c.hi, next[c.kernel])
			}
			next[c.kernel] = c.hi
		}
		if next[kernels[0]] != 1<<20 || next[kernels[1]] != 6 || len(ph) > 40*workers {
			t.Errorf("%d workers: %d chunks end at %v", workers, len(ph), next)
		}
	}
}
