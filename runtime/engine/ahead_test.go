package engine

import (
	"errors"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/text/sample"
)

// sideBySide returns a model, its fake runner, and a row of one session for each element of list, with a
// sampler of these parameters.
func sideBySide(t *testing.T, cfg device.Config, list ...sample.Params) (*Model, *fake.Runner, []Row) {
	t.Helper()
	r := fake.New(12, cfg)
	m, err := NewModel(r, 12, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for i, p := range list {
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		own, err := sample.New(p)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, Row{Session: s, Token: int32(3 * i), Sampler: own})
	}
	return m, r, rows
}

// drawn returns parameters that draw from all tokens, with a seed.
func drawn(seed uint64) sample.Params {
	p := sample.Off()
	p.Temperature, p.Seed = 100, seed
	return p
}

// TestAhead checks that tokens which the device picks by itself are the same as step by step, and that
// timelines and samplers are the same, too.
func TestAhead(t *testing.T) {
	const steps = 70 // more than a page
	cfg := device.Config{Context: 128, Tables: 2, Pages: 4, Width: 8}
	var texts [2][][]int32
	for i, goesAhead := range []bool{false, true} {
		m, r, rows := sideBySide(t, cfg, drawn(1), drawn(2))
		picked, err := m.Pick(rows)
		if err != nil {
			t.Fatal(err)
		}
		var a *Ahead
		if goesAhead {
			if a = m.Ahead(rows, picked); a == nil {
				t.Fatal("the device does not go on")
			}
		}
		for range steps {
			if !goesAhead {
				for j := range rows {
					rows[j].Token = picked[j][0]
				}
				if picked, err = m.Pick(rows); err != nil {
					t.Fatal(err)
				}
				continue
			}
			for a.InFlight() < 5 {
				if _, err := a.Ask(min(3, a.Capacity())); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range rows {
			if draws := row.Sampler.(*sample.Sampler).Sampling().Draw; draws != steps+1 {
				t.Errorf("ahead %t: %d draws; expected %d", goesAhead, draws, steps+1)
			}
			texts[i] = append(texts[i], slices.Clone(row.Session.Tokens()))
		}
		if goesAhead && r.Ahead < steps {
			t.Errorf("%d steps ahead", r.Ahead)
		}
	}
	if !slices.EqualFunc(texts[0], texts[1], slices.Equal) || len(texts[0][0]) != steps+1 {
		t.Errorf("texts %d; step by step %d", texts[1], texts[0])
	}
}

// TestAheadRefused checks that the device does not continue by itself if its picks depend on earlier tokens,
// or after rows whose tokens it did not pick last.
func TestAheadRefused(t *testing.T) {
	cfg := device.Config{Context: 128, Tables: 2, Pages: 4, Width: 8}
	penalty := drawn(1)
	penalty.FrequencyPenalty = 1
	for name, tt := range map[string]struct {
		second sample.Params
		change func(*Model, []Row) []Row
	}{
		"a penalty":     {penalty, func(_ *Model, rows []Row) []Row { return rows }},
		"one of two":    {drawn(1), func(_ *Model, rows []Row) []Row { return rows[:1] }},
		"other rows":    {drawn(1), func(_ *Model, rows []Row) []Row { return []Row{rows[1], rows[0]} }},
		"a row between": {drawn(1), func(m *Model, rows []Row) []Row { _ = rows[0].Session.Append(1); return rows }},
		"a mask": {drawn(1), func(_ *Model, rows []Row) []Row {
			rows[1].Sampler.(*sample.Sampler).Allow([]uint32{0xfff})
			return rows
		}},
		"the host": {drawn(1), func(_ *Model, rows []Row) []Row {
			rows[1].Sampler = struct{ Sampler }{rows[1].Sampler}
			return rows
		}},
	} {
		m, _, rows := sideBySide(t, cfg, drawn(0), tt.second)
		picked, err := m.Pick(rows)
		if err != nil {
			t.Fatal(err)
		}
		if m.Ahead(tt.change(m, rows), picked) != nil {
			t.Errorf("%s: the device goes on", name)
		}
	}
}

// TestAheadOutOfPages checks that a step without a free page is not made, and that the steps before it are
// made.
func TestAheadOutOfPages(t *testing.T) {
	m, r, rows := sideBySide(t, device.Config{Context: 256, Tables: 2, Pages: 3, Width: 8}, drawn(0), drawn(1))
	picked, err := m.Pick(rows)
	if err != nil {
		t.Fatal(err)
	}
	a := m.Ahead(rows, picked)
	var out *OutOfPages
	for !errors.As(err, &out) {
		if _, err = a.Ask(5); err == nil && a.InFlight() > 5 {
			_, err = a.Next()
		}
		if err != nil && !errors.As(err, &out) {
			t.Fatal(err)
		}
	}
	for a.InFlight() > 0 {
		if _, err := a.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rows[0].Session.Tokens()); n != 64 || r.Ahead != 63 {
		t.Errorf("%d tokens, %d steps ahead", n, r.Ahead)
	}
	if err := rows[1].Session.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rows[0].Session.Append(1); err != nil {
		t.Errorf("after a step for which there was no page: %v", err)
	}
}
