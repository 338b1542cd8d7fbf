package cpu

import (
	"slices"
	"testing"

	"mla/runtime/plan"
)

// TestGroupExperts checks that the selections of live rows are listed by expert, and that an expert outside
// the model is an error.
func TestGroupExperts(t *testing.T) {
	rows := [][]plan.Routing{{{Expert: 3}, {Expert: 1}}, {{Expert: 1}, {Expert: 0}}, {{Expert: 3}, {Expert: 9}}}
	for _, tt := range []struct {
		live            int
		starts, members []uint32
	}{
		{1, []uint32{0, 0, 1, 1, 2}, []uint32{1, 0}},
		{2, []uint32{0, 1, 3, 3, 4}, []uint32{3, 1, 2, 0}},
		{3, nil, nil},
	} {
		g := &groupExperts{rows: rows, starts: make([]uint32, 5), members: make([]uint32, 6)}
		w := newWorker(needs{rows: 3})
		w.rows = make([]plan.Row, tt.live)
		for range 2 { // a replay finds what the one before left
			g.run(w, 0, 1)
		}
		if (w.err != nil) != (tt.starts == nil) {
			t.Errorf("%d rows: error %v", tt.live, w.err)
		}
		if w.err == nil && (!slices.Equal(g.starts, tt.starts) || !slices.Equal(g.members[:2*tt.live], tt.members)) {
			t.Errorf("%d rows: %v from %v; expected %v from %v", tt.live, g.members, g.starts, tt.members, tt.starts)
		}
	}
}
