//go:build deep

package msl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mla/gen/msl/execute"
	"mla/gen/target"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// arrival is memory whose newest row, the last of nkv, is still on its way, and the sectors
// of the cache that hold something of it.
type arrival struct {
	*memory
	rows    int
	sectors []int
}

// arriving is the source of attention on a row that the dispatch before is still storing: until
// GRID_WAIT, the sectors of the arrival with a given number of rows are other bytes. A GPU's level-1 cache keeps 32 bytes as one, so what was loaded of them before stays as it was.
func arriving(t *testing.T, source string, arrivals []arrival) string {
	t.Helper()
	store := "threadgroup_barrier(mem_flags::mem_device);\n"
	for _, a := range arrivals {
		numbers := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(a.sectors)), "u, "), "[]") + "u"
		store += fmt.Sprintf(`    const uint sectors%d[] = {%s};
    for (uint s = 0; nkv == %du && sg == 0 && lane == 0 && s < %du; ++s) {
      for (uint i = 0; i < 32u; ++i) ((device uchar *)cache)[32u * sectors%d[s] + i] ^= 0x5a;
    }
`, a.rows, numbers, a.rows, len(a.sectors), a.rows)
	}
	store += "    threadgroup_barrier(mem_flags::mem_device);\n"
	const before = "    GRID_WAIT;\n    load_queries("
	if strings.Count(source, before) != 1 {
		t.Fatalf("%d times %q in the source", strings.Count(source, before), before)
	}
	return strings.Replace(source, before, "    "+store+"    load_queries(", 1)
}

// sectorsOf are the 32 bytes each that hold something of a cache row.
func (m *memory) sectorsOf(pos int) (list []int) {
	a := m.k.Parts[0].(*plan.Attend)
	width := a.LatDim + a.PeDim
	first := cached(a.Cache, pos, width).Offset
	for i := first; i < first+width; i++ {
		if m.types[a.Cache.Slot] == quant.Q8_0 {
			number, scale := m.scaled(a.Cache.Slot, i)
			list = append(list, number/32, scale/32)
		} else {
			list = append(list, 2*i/32)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// early runs the first split of attention while the newest row arrives, for each of the numbers of rows, and
// calls wrong with each error. All runs use one source.
func early(t *testing.T, k *plan.Kernel, v *plan.Variant, rows []int, change func(string) string, wrong func(rows int, err error)) {
	t.Helper()
	var arrivals []arrival
	for _, n := range rows {
		m := newMemory(k, v, plan.ElemF32, n-1)
		arrivals = append(arrivals, arrival{m, n, m.sectorsOf(n - 1)})
	}
	one := *k
	one.Variants = []plan.Variant{*v}
	e, err := execute.Compile(change(arriving(t, print(t, &plan.Bundle{Name: "early", Activations: plan.ElemF32, Kernels: []plan.Kernel{one}}), arrivals)), execute.Fast|execute.Small)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, a := range arrivals {
		if err := a.attend(e, v.Func); err != nil {
			wrong(a.rows, err)
		}
	}
}

// attend runs the first split on the arrival, and on the same with the row there.
func (m arrival) attend(e *execute.Program, kernel string) error {
	a := m.k.Parts[0].(*plan.Attend)
	data := m.clone().data
	for _, s := range m.sectors {
		for i := range 32 {
			data[a.Cache.Slot][32*s+i] ^= 0x5a
		}
	}
	if err := e.Copies().Run(kernel, 1, m.k.Threads, data); err != nil {
		return err
	}
	m.run(a)
	ml, out := float32s(data[a.ML])[:2*a.Heads], float32s(data[a.Out])[:a.Heads*a.LatDim]
	check.Rebase(ml, float32s(m.data[a.ML]))
	most, worst := float32(0), float32(0)
	for i, want := range float32s(m.data[a.Out])[:len(out)] {
		if d := max(out[i]-want, want-out[i]); d > worst || d != d {
			worst = d
		}
		most = max(most, want, -want)
	}
	if !(worst <= matrixTolerance*most) {
		return fmt.Errorf("results are off by %v of %v", worst, most)
	}
	return nil
}

// earlyMistakes are mistakes in early loads. Each replaces the text old of the source by the text by.
var earlyMistakes = []struct{ name, old, by string }{
	{"all rows early", "min(r, n - 1u);\n        const bool wanted = from < newest ?", "min(r, n - 1u);\n        const bool wanted = true ?"},
	{"neighbours early", "NEIGHBOURS = (511u + W) / W", "NEIGHBOURS = 0"},
	{"one neighbour", "NEIGHBOURS = (511u + W) / W", "NEIGHBOURS = 1"},
	{"not after the split", "to - from + cache_t::NEIGHBOURS", "to - from"},
}

// TestEarly checks that attention loads nothing of the newest row before the dispatch before has ended,
// whether that row is in the split or the first one after it, for scales that share 32 bytes with those of
// one or more following rows.
func TestEarly(t *testing.T) {
	found := map[string]int{}
	for _, shape := range []struct{ heads, lat, pe, simdgroups int }{{16, 512, 64, 8}, {4, 128, 64, 4}} {
		k := attendKernel("early", shape.heads, shape.lat, shape.pe, shape.simdgroups, plan.Splits{Count: 3, Tile: 16})
		if got := matrixShapes(k.Parts[0].(*plan.Attend), k.Threads, target.For("").Budget("")); len(got) != len(k.Variants)-1 {
			t.Fatalf("%+v: matrix forms: %+v", shape, got)
		}
		for i := range k.Variants[1:] {
			v := &k.Variants[1+i]
			early(t, &k, v, []int{1, 2, 6, 7, 16, 17, 40}, func(s string) string { return s }, func(rows int, err error) {
				t.Errorf("%d + %d columns, %s, %d rows: %v", shape.lat, shape.pe, v.Func, rows, err)
			})
			for _, mistake := range earlyMistakes {
				change := func(s string) string { return strings.Replace(s, mistake.old, mistake.by, 1) }
				early(t, &k, v, []int{6, 7, 17}, change, func(int, error) { found[mistake.name]++ })
			}
		}
	}
	for _, mistake := range earlyMistakes {
		if found[mistake.name] == 0 {
			t.Errorf("%s: not found", mistake.name)
		}
	}
}
