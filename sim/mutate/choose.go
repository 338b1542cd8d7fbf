package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// sizes says how many mutations a run draws of a kind, beside those that it always
// makes: every barrier, every named mistake, one mistake in each kernel function.
var sizes = map[bool]map[string]int{
	false: {"plan": 120, "msl": 24, "go": 24},
	true:  {"plan": 16, "msl": 4, "go": 2},
}

// choose takes what a run makes, in the order of the list: all that match, or what any
// of the seeds draws.
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

// draw takes those of one kind that are always made, and some of the rest.
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

// shuffle orders mutations by a hash of seed and id, so that a change of the code
// changes little of what a seed draws.
func shuffle(pool []mutation, seed uint64) {
	rank := func(m mutation) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, seed, " ", m.id)
		return rand.NewPCG(h.Sum64(), seed).Uint64()
	}
	slices.SortFunc(pool, func(a, b mutation) int { return cmp.Compare(rank(a), rank(b)) })
}

// quick tells what CI draws from: the tiny files, and only kinds of mistakes that
// hardly ever change nothing, so that an edit elsewhere does not fail it.
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

// always names the group of which every full run makes one; "": none.
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
