package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// sizes is the number of mutations of each kind that a run draws, by whether it is fast. In addition a run
// always makes every barrier mutation, every named mistake, and one mistake in each kernel function.
var sizes = map[bool]map[string]int{
	false: {"plan": 120, "msl": 24, "go": 24},
	true:  {"plan": 16, "msl": 4, "go": 2},
}

// choose returns the mutations of a run, in the order of the list: all that match the patterns in only, or
// the union of what the seeds draw.
func choose(all []mutation, seeds []uint64, fast bool, only []string, excluded *exclusions) (chosen []mutation) {
	patterns, taken := &exclusions{only}, map[string]bool{}
	if len(only) == 0 {
		for _, seed := range seeds {
			for kind := range sizes[fast] {
				draw(all, kind, seed, fast, excluded, taken)
			}
		}
	}
	for _, m := range all {
		if taken[m.id] || patterns.lists(m.id) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// draw marks mutations of one kind as taken: those that every run makes, and a random part of the others.
func draw(all []mutation, kind string, seed uint64, fast bool, excluded *exclusions, taken map[string]bool) {
	var pool []mutation
	for _, m := range all {
		if m.kind() == kind && (!fast || quick(m.id) && !excluded.lists(m.id)) {
			pool = append(pool, m)
		}
	}
	shuffle(pool, seed)
	n, seen := sizes[fast][kind], map[string]bool{}
	for _, m := range pool {
		group := always(m.id)
		switch {
		case !fast && group != "" && !seen[group]:
			seen[group] = true
		case n > 0:
			n--
		default:
			continue
		}
		taken[m.id] = true
	}
}

// shuffle sorts mutations by a hash of the seed and their ID. An edit of the code therefore changes only a
// small part of what a seed draws.
func shuffle(pool []mutation, seed uint64) {
	rank := func(m mutation) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, seed, " ", m.id)
		return rand.NewPCG(h.Sum64(), seed).Uint64()
	}
	slices.SortFunc(pool, func(a, b mutation) int { return cmp.Compare(rank(a), rank(b)) })
}

// quick reports whether CI may draw a mutation. CI uses the tiny files only, and only kinds of mistakes that
// nearly always change the result, so that an unrelated edit does not make CI fail.
func quick(id string) bool {
	part := strings.Split(id, "/")
	switch part[0] {
	case "plan":
		return strings.Contains(part[1], "-tiny-") && part[2] != "groups"
	case "msl":
		return part[1] == files[0] && strings.HasSuffix(part[2], "_body") && part[3] == "index"
	default:
		return part[1] == "named"
	}
}

// always returns the name of the group from which a full run makes one mutation at least; empty if there is
// none.
func always(id string) string {
	part := strings.Split(id, "/")
	switch {
	case part[0] == "plan" && part[2] == "barrier", part[1] == "named":
		return id
	case part[0] == "msl" && strings.HasSuffix(part[2], "_body"):
		return strings.Join(part[:3], "/")
	}
	return ""
}
