package spec

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestExpands: sequences expand heads from the crossover on that was measured, or that follows
// from the heads' sizes, or that the spec says; never batches, nor columns that are no blocks.
func TestExpands(t *testing.T) {
	for _, c := range []struct {
		lat, pe, nope, v, from, want int // want: the fewest rows; 0: no number of them
	}{
		{512, 64, 128, 128, 0, 155},
		{512, 64, 192, 256, 0, 330},
		{512, 64, 64, 64, 0, 74}, // 128 * 512 / (1024 - 128) = 73.1
		{256, 32, 64, 64, 0, 86}, // 128 * 256 / (512 - 128) = 85.3
		{64, 32, 128, 128, 0, 0}, // heads of more columns than the latent rows have
		{512, 64, 128, 128, 17, 17},
		{512, 64, 128, 128, 3, 17}, // batches keep to latent rows
		{512, 64, 124, 128, 17, 0},
		{500, 64, 128, 128, 17, 0},
		{512, 64, 128, 4096, 17, 0}, // values that fit no threadgroup
	} {
		s := &Spec{Tuning: DefaultTuning}
		s.Tuning.AttendHeads.From = c.from
		m := &s.Model
		m.NumAttentionHeads, m.KVLoraRank, m.QKRopeHeadDim, m.QKNopeHeadDim, m.VHeadDim = 16, c.lat, c.pe, c.nope, c.v
		got := 0
		for width := plan.MaxWidth; width > 0 && s.Expands(width); width-- {
			got = width
		}
		if got != c.want {
			t.Errorf("%+v: from %d rows on", c, got)
		}
	}
}

// TestHeadsTuning breaks one value of the shape at a time.
func TestHeadsTuning(t *testing.T) {
	good := DefaultTuning.AttendHeads
	if err := good.check(); err != nil {
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
		if err := a.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; expected %q", a, err, want)
		}
	}
}
