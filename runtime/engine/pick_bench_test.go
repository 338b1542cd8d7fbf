package engine

import (
	"fmt"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// idle is a device whose steps take no time.
type idle struct {
	*fake.Runner
	tokens []int32
}

func (r *idle) Pick(_ []plan.Row, picks []device.Pick) ([]int32, error) {
	return r.tokens[:len(picks)], nil
}

// BenchmarkPick measures the host's time for a step of several sessions, without the device.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const context = 4096
			cfg := device.Config{Context: context, Width: 16, Tables: n, Pages: n * plan.Pages(context)}
			m, err := NewModel(&idle{fake.New(1000, cfg), make([]int32, n)}, 1000, cfg)
			if err != nil {
				b.Fatal(err)
			}
			rows := make([]Row, n)
			for i := range rows {
				s, err := m.NewPrivateSession()
				if err != nil {
					b.Fatal(err)
				}
				rows[i] = Row{Session: s}
				if rows[i].Sampler, err = sample.New(sample.Off()); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				if i%(context-1) == 0 {
					for _, r := range rows {
						if err := r.Session.rewind(0); err != nil {
							b.Fatal(err)
						}
					}
				}
				if _, err := m.Pick(rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
