package planfuzz_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/planfuzz"
	"mla/runtime/plan/verify"
)

// bundles are copies of those that Files names, by name.
func bundles(t *testing.T) (list []*plan.Bundle) {
	t.Helper()
	for _, b := range generated.Bundles() {
		if _, ok := planfuzz.Files[b.Name]; !ok {
			continue
		}
		c, err := planfuzz.Copy(b)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if len(list) != len(planfuzz.Files) {
		t.Fatalf("%d bundles for the names %v", len(list), slices.Sorted(maps.Keys(planfuzz.Files)))
	}
	return list
}

// TestLiars: every kind of lie can be told of some bundle, and is found in each.
func TestLiars(t *testing.T) {
	for _, l := range planfuzz.Liars {
		told := 0
		for _, b := range bundles(t) {
			if !l.Tell(b) {
				continue
			}
			told++
			if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), l.Why) {
				t.Errorf("%s, bundle %s: %v; want %q", l.Name, b.Name, err, l.Why)
			}
		}
		if told == 0 {
			t.Errorf("%s: of no bundle", l.Name)
		}
	}
}

// TestMutate: a seed always makes the same plan, which is another one, of all kinds.
func TestMutate(t *testing.T) {
	seen := map[string]bool{}
	small := bundles(t)[0]
	for seed := range uint64(150) {
		var first []string
		for range 2 {
			rng := rand.New(rand.NewPCG(seed, 1))
			b, err := planfuzz.Copy(small)
			if err != nil {
				t.Fatal(err)
			}
			var done []string
			for range 3 {
				done = append(done, planfuzz.Mutate(rng, b))
				seen[strings.Fields(done[len(done)-1] + " nothing")[0]] = true
			}
			if first == nil {
				first = done
			} else if !slices.Equal(first, done) {
				t.Fatalf("seed %d: %q, then %q", seed, first, done)
			}
		}
	}
	for _, want := range []string{"offset", "length", "operand", "operands", "order", "factor", "slot", "mark", "table", "barrier", "layer", "a"} {
		if !seen[want] {
			t.Errorf("no change of the kind %q: %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}
