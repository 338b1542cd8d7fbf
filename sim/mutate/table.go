package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
)

// verdict is the outcome of a trial of one mutation.
type verdict struct {
	by      string // what caught the mutation; empty: nothing did
	invalid bool   // the changed source does not compile, so this is no mutation
	broken  error  // the trial itself failed, so nothing is known about the mutation
}

// counts are the numbers of mutations of one kind.
type counts struct{ caught, total, excluded, invalid int }

// table is the outcome of a run.
type table struct {
	kinds   map[string]*counts
	escaped int
}

// run tries the mutations on a number of workers until ctx is done, and prints a line for each.
func run(ctx context.Context, chosen []mutation, workers int, excluded *exclusions, out io.Writer) *table {
	t := &table{kinds: map[string]*counts{}}
	var guard sync.Mutex
	next := make(chan *mutation)
	var working sync.WaitGroup
	for range max(1, workers) {
		working.Go(func() {
			for m := range next {
				v := m.try()
				guard.Lock()
				fmt.Fprintf(out, "%s: %s\n", m.id, t.count(m, v, excluded))
				guard.Unlock()
			}
		})
	}
	for i := range chosen {
		if ctx.Err() != nil {
			break
		}
		next <- &chosen[i]
	}
	close(next)
	working.Wait()
	return t
}

// count counts a verdict and returns its text.
func (t *table) count(m *mutation, v verdict, excluded *exclusions) string {
	c := t.kinds[m.kind()]
	if c == nil {
		c = &counts{}
		t.kinds[m.kind()] = c
	}
	listed := excluded.lists(m.id)
	switch {
	case v.broken != nil:
		c.total++
		t.escaped++
		return "NOT TRIED: " + v.broken.Error()
	case v.invalid:
		c.invalid++
		return "does not compile"
	case listed && v.by == "":
		c.excluded++
		return "changes nothing, see " + exclusionsFile
	case listed:
		t.escaped++
		return "EXCLUDED, BUT CAUGHT by " + v.by
	case v.by == "":
		c.total++
		t.escaped++
		return "ESCAPED"
	default:
		c.total++
		c.caught++
		return "caught by " + v.by
	}
}

// String returns the counts of each kind, and their sum.
func (t *table) String() string {
	var b strings.Builder
	var sum counts
	for _, kind := range []string{"plan", "msl", "go"} {
		c := t.kinds[kind]
		if c == nil {
			continue
		}
		fmt.Fprintf(&b, "%-4s caught %d of %d; %d change nothing, %d do not compile\n", kind, c.caught, c.total, c.excluded, c.invalid)
		sum.caught += c.caught
		sum.total += c.total
	}
	fmt.Fprintf(&b, "mutations caught %d of %d\n", sum.caught, sum.total)
	return b.String()
}
