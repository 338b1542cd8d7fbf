package msl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// manyRows are shapes of attention of many rows: queries that are whole rows, parts of rows,
// and neither, the last threadgroup's all there or not; blocks of queries that are full and not;
// columns laid out evenly and unevenly, and loaded by 8 and by 16 of a cache of Q8_0, which
// three shapes can have; and shapes that take the plain form.
var manyRows = []struct {
	heads, lat, pe, width, queries, simdgroups, tile int
	matrix                                           bool
}{
	{16, 128, 32, 20, 32, 8, 16, true},
	{5, 128, 16, 24, 16, 4, 16, true},
	{3, 64, 16, 17, 20, 4, 32, true},
	{20, 64, 32, 18, 8, 2, 8, true},
	{2, 72, 8, 40, 64, 4, 8, true},
	{4, 64, 32, 18, 8, 8, 16, false},
	{3, 60, 16, 20, 7, 4, 24, false},
	{7, 64, 10, 17, 40, 4, 4, false},
}

// rowsOf lists rows that share tiles of queries in every way: sessions one behind the other,
// rows that do not rise, dead rows between them, and at the end.
func rowsOf(width int) (rows []plan.Row) {
	for i := range width {
		r := plan.Row{Pos: uint32(i), Table: 1} // of one session first
		switch {
		case i%9 == 7 || i >= width-2:
			rows = append(rows, plan.Row{})
			continue
		case i >= width/2: // then of two, by turns of three rows
			r = plan.Row{Pos: uint32(95 - 3*(i-width/2)%90), Table: uint32(i / 3 % 2)}
		}
		r.NKV = r.Pos + 1
		rows = append(rows, r)
	}
	return rows
}

// rowsTables is how many block tables they have.
const rowsTables = 2

// rowsKernel attends on caches of all types.
func rowsKernel(name string, heads, lat, pe, width, queries, simdgroups, tile int) plan.Kernel {
	var s slots
	p := &plan.AttendRows{Heads: heads, LatDim: lat, PeDim: pe, Scale: 0.1, Temperature: temperature, Queries: queries, Tile: tile,
		QAbs: s.in("q_abs"), QPe: s.in("q"), Cache: s.cache(false), Out: s.out("o")}
	p.QAbs.Stride, p.QPe.Offset, p.QPe.Stride, p.Out.Stride = lat, 8, pe+8, lat
	for slot, n := range map[int]int{p.QAbs.Slot: heads * lat, p.QPe.Slot: heads * (pe + 8), p.Out.Slot: heads * lat} {
		s[slot].Stride = plan.StrideOf(n) + plan.StrideAlign
	}
	s.step()
	k := s.cacheKernel(name, p)
	k.Threads, k.Width = simdgroups*32, width
	return k
}

// rowsMemory fills the buffers: cache rows that no row attends to are NaN.
func rowsMemory(k *plan.Kernel, v *plan.Variant, act plan.Elem, rows []plan.Row) *memory {
	m := newMemory(k, v, act, 0)
	p := k.Parts[0].(*plan.AttendRows)
	width := p.LatDim + p.PeDim
	for _, q := range []plan.Vec{p.QAbs, p.QPe, p.Out} {
		format := quant.F32
		if m.half(q.Slot) {
			format = quant.F16
		}
		m.data[q.Slot] = m.encode(format, k.Width*k.Slots[q.Slot].Stride)
	}
	var tables, steps []uint32
	for i := range rowsTables * testPages { // from the last page to the first
		tables = append(tables, uint32(rowsTables*testPages-1-i))
	}
	most := [rowsTables]uint32{}
	for _, r := range rows {
		steps = append(steps, r.Token, r.Pos, r.NKV, r.Table)
		most[r.Table] = max(most[r.Table], r.NKV)
	}
	m.data[p.Cache.Tables] = words(tables...)
	for slot, s := range k.Slots {
		if s.Space == plan.SpaceRow {
			m.data[slot] = words(steps...)
		}
	}
	m.data[p.Cache.Slot] = m.cachePages(m.types[p.Cache.Slot], rowsTables*testPages, width)
	for table := range rowsTables {
		for pos := int(most[table]); pos < testPages*plan.PageRows; pos++ {
			m.setCached(rowOfTable(p.Cache, table, pos, width), slices.Repeat([]float64{math.NaN()}, width))
		}
	}
	return m
}

func rowOfTable(c plan.Paged, table, pos, width int) plan.Vec {
	page := rowsTables*testPages - 1 - (table*testPages + pos/plan.PageRows)
	return plan.Vec{Slot: c.Slot, Offset: (page*plan.PageRows + pos%plan.PageRows) * width}
}

// attendRows computes the part in float64.
func (m *memory) attendRows(p *plan.AttendRows, rows []plan.Row) {
	width := p.LatDim + p.PeDim
	of := func(v plan.Vec, row int) plan.Vec {
		v.Offset += row * m.k.Slots[v.Slot].Stride
		return v
	}
	for i, r := range rows {
		for h := 0; h < p.Heads && r.NKV > 0; h++ {
			q := append(m.vec(of(p.QAbs, i), h, p.LatDim), m.vec(of(p.QPe, i), h, p.PeDim)...)
			o, sum := make([]float64, p.LatDim), 0.0
			for t := range int(r.NKV) {
				row := m.vec(rowOfTable(p.Cache, int(r.Table), t, width), 0, width)
				w := math.Exp(p.Scale * p.Temperature.At(int(r.Pos)) * dot(q, row))
				sum += w
				addTo(o, row[:p.LatDim], w)
			}
			for c := range o {
				o[c] /= sum
			}
			m.setVec(of(p.Out, i), h, o)
		}
	}
}

// TestRowsRefused breaks one thing of a good kernel at a time.
func TestRowsRefused(t *testing.T) {
	for want, change := range map[string]func(k *plan.Kernel, p *plan.AttendRows){
		"in a kernel of 0 rows":              func(k *plan.Kernel, _ *plan.AttendRows) { alone(k) },
		"a dimension of 0":                   func(_ *plan.Kernel, p *plan.AttendRows) { p.Queries = 0 },
		"does not fit 32768 bytes":           func(_ *plan.Kernel, p *plan.AttendRows) { p.LatDim, p.Out.Stride, p.Queries = 8128, 8128, 4 },
		"use more simdgroups":                func(k *plan.Kernel, _ *plan.AttendRows) { k.Threads = 32 },
		"queries of 1073741824 heads":        func(_ *plan.Kernel, p *plan.AttendRows) { p.Heads = 1 << 30 },
		"cannot serve as activations":        func(k *plan.Kernel, p *plan.AttendRows) { k.Slots[p.Out.Slot].Write = false },
		"a kernel of several rows without a": func(k *plan.Kernel, _ *plan.AttendRows) { k.Slots[len(k.Slots)-1].Elem = plan.ElemU32 },
	} {
		k := rowsKernel("refused", 16, 512, 64, 24, 16, 8, 16)
		change(&k, k.Parts[0].(*plan.AttendRows))
		if _, err := Print(&plan.Bundle{Kernels: []plan.Kernel{k}}, header); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Print says %v; expected %q", err, want)
		}
	}
}

// alone makes a kernel one of one row.
func alone(k *plan.Kernel) {
	k.Width = 0
	for i := range k.Slots {
		k.Slots[i].Stride = 0
	}
}

// TestRowsRegisters: the shape that specs have unless they say otherwise leaves a thread of
// every Apple GPU its registers, with latent vectors of 512 columns and rotated ones of 64.
func TestRowsRegisters(t *testing.T) {
	d := spec.DefaultTuning.AttendRows
	k := rowsKernel("registers", 16, 512, 64, 24, d.Queries, d.Simdgroups, d.Tile)
	forms, err := AttentionRegisters(&k)
	if err != nil || len(forms) != 3 || forms[1].Tile != d.Tile || forms[2].Tile != d.Tile {
		t.Fatalf("%+v, %v", forms, err)
	}
	for _, r := range forms {
		if !budgetOf(plan.ClassApple7).Keeps(&r, k.Threads) {
			t.Errorf("%s form: %d registers of %d threads", r.Form, r.Held(), k.Threads)
		}
	}
}
