package spec_test

import (
	"fmt"
	"testing"

	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/gen/weights"
)

// TestRolesAreWeights holds that the roles that may be quantised are those of
// the weight table, with the same rows and layers.
func TestRolesAreWeights(t *testing.T) {
	for seed := range uint64(400) {
		s := spectest.Random(seed / 2)
		if seed%4 >= 2 {
			s = spectest.Hybrid(seed)
		}
		if seed%2 > 0 {
			s = s.NextNLayer()
		}
		for _, legacy := range []bool{false, true} {
			if legacy && s.Hybrid != nil {
				continue // there are no such files
			}
			var want []spec.Role
			for _, w := range weights.Table(s) {
				switch {
				case w.F32 || legacy && w.Role == weights.VB:
					continue
				case legacy && w.Role == weights.KB:
					w = weights.LegacyKVB(s)
				}
				want = append(want, spec.Role{Name: w.Role, First: w.First, Last: w.Last, Cols: w.Cols, Among: fmt.Sprint(w.Among)})
			}
			got := spec.Roles(s, legacy)
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d roles; the weight table has %d", seed, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("seed %d, legacy %v: role %+v; the weight table has %+v", seed, legacy, got[i], want[i])
				}
			}
		}
	}
}
