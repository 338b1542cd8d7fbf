package target

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/runtime/device/chips"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
)

// sources are the sources of all rows of all tables, by where they stand.
func sources() map[string]Source {
	all := map[string]Source{}
	for name, list := range map[string]any{"limits": limits, "cores": cores, "registerFiles": registerFiles, "memories": memories, "pickThreads": pickThreads, "eagers": eagers,
		"matVecs": matVecs, "fews": fews, "expertTables": expertTables, "wides": wides, "narrows": narrows, "attentions": attentions, "spreads": spreads,
		"Budgets": Budgets, "attendHeads": attendHeads, "crossovers": crossovers, "tight": tight, "expandWaves": expandWaves, "Predictions": Predictions} {
		collect(all, name, reflect.ValueOf(list))
	}
	return all
}

// collect adds the sources within a value.
func collect(all map[string]Source, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			collect(all, path+"."+string(rune('a'+i)), v.Index(i))
		}
	case reflect.Pointer:
		collect(all, path, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Source]() {
			all[path] = Source{Kind(v.Field(0).String()), v.Field(1).String(), v.Field(2).String(), v.Field(3).String()}
			return
		}
		for i := range v.NumField() {
			collect(all, path+"/"+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

// TestSources checks that every row states its certainty, date and reason, and that measured or published
// numbers name a device.
func TestSources(t *testing.T) {
	all := sources()
	if len(all) < 40 {
		t.Fatalf("%d sources", len(all))
	}
	kinds := []Kind{DataSheet, Measured, Reported, Estimated}
	for path, s := range all {
		day, err := time.Parse(time.DateOnly, s.Date)
		if err != nil || day.Year() < 2026 || !slices.Contains(kinds, s.Kind) || s.Found == "" || s.On == "" && s.Kind != Estimated {
			t.Errorf("%s: %+v", path, s)
		}
	}
}

// TestClasses: each table has a row for devices of any class, first, and no class twice.
func TestClasses(t *testing.T) {
	for name, classes := range map[string][]string{"cores": classesOf(cores), "registerFiles": classesOf(registerFiles), "memories": classesOf(memories),
		"pickThreads": classesOf(pickThreads), "eagers": classesOf(eagers), "matVecs": classesOf(matVecs), "fews": classesOf(fews), "expertTables": classesOf(expertTables), "wides": classesOf(wides),
		"narrows": classesOf(narrows), "attentions": classesOf(attentions), "spreads": classesOf(spreads), "attendHeads": classesOf(attendHeads),
		"crossovers": classesOf(crossovers), "tight": classesOf(tight), "expandWaves": classesOf(expandWaves)} {
		if classes[0] != "" {
			t.Errorf("%s begins with class %q", name, classes[0])
		}
		for i, c := range classes[1:] {
			if !slices.Contains(plan.Classes, c) || slices.Contains(classes[:i+1], c) {
				t.Errorf("%s: class %q is none, or there twice", name, c)
			}
		}
	}
}

func classesOf[T any](of table[T]) (list []string) {
	for _, r := range of {
		list = append(list, r.class)
	}
	return list
}

// TestFew: how many rows of weights a simdgroup has, and which rows go alone.
func TestFew(t *testing.T) {
	for width, want := range map[int]int{2: 8, 3: 8, 4: 8, 5: 6} {
		if got := FewShape(Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 2}, width); got.RowsPerSimdgroup != want || got.SplitK != 2 {
			t.Errorf("%d rows: %+v", width, got)
		}
	}
	if d := For(""); !d.CombinesApart(1) || d.CombinesApart(16) {
		t.Error("one row is by itself, sixteen are not")
	}
	if d := For(""); !d.ExpertsApart(4) || d.ExpertsApart(8) {
		t.Error("four rows are by themselves with their experts, eight are not")
	}
}

// TestThreads: whole simdgroups for which a core has the registers.
func TestThreads(t *testing.T) {
	for registers, want := range map[int]int{64: 1024, 85: 768, 102: 640, 128: 512, 168: 384, 255: 256} {
		if got := For(PTXClass).Threads(registers); got != want {
			t.Errorf("%d threads of %d registers; expected %d", got, registers, want)
		}
	}
}

// TestBudgets: a class has the budgets of its own devices; the class of any device has all.
func TestBudgets(t *testing.T) {
	for class, want := range map[string]int{"": 2, plan.ClassApple: 1, plan.ClassNVIDIA: 1} {
		if got := For(class).Budgets(); len(got) != want || got[0].Class != "" {
			t.Errorf("%q: %d budgets; expected %d", class, len(got), want)
		}
	}
	if any := For(""); any.Budget("unknown") != any.Budget("") || any.Budget(plan.ClassApple7) == any.Budget("") {
		t.Error("a kernel class has another's budget")
	}
	if apple := For(plan.ClassApple); apple.Budget(plan.ClassApple7) != apple.Budget("") || apple.Budget("").Registers >= For(plan.ClassNVIDIA).Budget("").Registers {
		t.Error("of class apple all families have one budget, a smaller one than others")
	}
}

// TestAttentionSimdgroups checks that many heads take more simdgroups, and that a shape that never fits falls
// back to the default.
func TestAttentionSimdgroups(t *testing.T) {
	for heads, want := range map[int]int{16: 8, 128: 16, 4096: 8} {
		if got := For("").AttentionSimdgroups(heads, 512, 64); got != want {
			t.Errorf("%d heads: %d simdgroups; expected %d", heads, got, want)
		}
	}
}

// TestLeastRows checks that the fewest cache rows of a split are whole tiles, and at most as many as a plan may have.
func TestLeastRows(t *testing.T) {
	for _, c := range []struct{ width, tile, want int }{{1, 16, 0}, {4, 16, 0}, {16, 16, 64}, {512, 24, 2064}, {2048, 16, 4096}, {2048, 24, 4080}} {
		if got := For("").LeastRows(c.width, c.tile); got != c.want {
			t.Errorf("%d rows in tiles of %d: %d cache rows to a split; expected %d", c.width, c.tile, got, c.want)
		}
	}
}

// TestPredictions checks that every prediction names a known chip and that its shares are ranges with a source.
func TestPredictions(t *testing.T) {
	for _, p := range Predictions {
		if p.Rates() == (chips.Chip{}) {
			t.Errorf("no chip %s", p.Chip)
		}
		for _, s := range []Share{p.Tier.Dense, p.Tier.MoE} {
			if s.Low <= 0 || s.Low > s.High || s.High > 1 || strings.TrimSpace(s.From.Found) == "" {
				t.Errorf("%s: %+v", p.Name, s)
			}
		}
	}
}

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
		device := For("")
		a, m := device.AttendHeads(), &hparams.Dims{}
		a.From = c.from
		m.NumAttentionHeads, m.KVLoraRank, m.QKRopeHeadDim, m.QKNopeHeadDim, m.VHeadDim = 16, c.lat, c.pe, c.nope, c.v
		got := 0
		for width := plan.MaxWidth; width > 0 && device.Expands(width, plan.DefaultBatch, m, &a); width-- {
			got = width
		}
		if got != c.want {
			t.Errorf("%+v: from %d rows on", c, got)
		}
	}
}

// TestLeastMac: 24 GB are too few for 17.2 GB, unless the limit is raised.
func TestLeastMac(t *testing.T) {
	for _, c := range []struct{ bytes, asItIs, limit int64 }{{17.2e9, 32, 24}, {17.1e9, 24, 24}, {4e9, 8, 8}, {90e9, 128, 96}, {500e9, 0, 512}, {600e9, 0, 0}} {
		if asItIs, limit := LeastMac(c.bytes); int64(asItIs) != c.asItIs || int64(limit) != c.limit {
			t.Errorf("%d bytes: %d and %d GiB; expected %d and %d", c.bytes, asItIs, limit, c.asItIs, c.limit)
		}
	}
}
