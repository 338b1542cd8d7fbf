package spec

import (
	"strings"
	"testing"
)

// TestHeadsTuning breaks one value of the shape at a time.
func TestHeadsTuning(t *testing.T) {
	good := defaults("").AttendHeads
	if err := headsError(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(a *AttendHeads){
		"rows_per_simdgroup is 12": func(a *AttendHeads) { a.RowsPerSimdgroup = 12 },
		"simdgroups is 64":         func(a *AttendHeads) { a.Simdgroups = 64 },
		"split_k is 3":             func(a *AttendHeads) { a.Simdgroups, a.SplitK = 9, 3 },
		"split_k is 16":            func(a *AttendHeads) { a.SplitK = 16 },
		"tile is 24":               func(a *AttendHeads) { a.Tile = 24 },
		"from is 9999":             func(a *AttendHeads) { a.From = 9999 },
	} {
		a := good
		change(&a)
		if err := headsError(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; expected %q", a, err, want)
		}
	}
}
