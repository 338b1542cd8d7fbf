package linalg

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mla/runtime/quant"
)

// BenchmarkRowsMany measures one core: 64 rows times several inputs, beside the same
// inputs one by one. Both take turns; "gain" is the ratio of their shortest times,
// which other work on the machine disturbs least.
func BenchmarkRowsMany(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range quant.Formats() {
			for _, inputs := range []int{2, 4, 8, 16, 512} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, f.Name, inputs), func(b *testing.B) { benchmarkRowsMany(b, name, f, inputs) })
			}
		}
	}
}

func benchmarkRowsMany(b *testing.B, backend string, f *quant.Format, inputs int) {
	const rows = 64
	useBackend(b, backend)
	r := rand.New(rand.NewPCG(1, 2))
	w := randomBlocks(r, f, rows*benchCols/f.BlockElems)
	stride := len(w) / rows
	xs, ys := make([][]float32, inputs), make([][]float32, inputs)
	for j := range xs {
		xs[j], ys[j] = randomFloats(r, benchCols), make([]float32, rows)
	}
	alone, many := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		for j, x := range xs {
			Rows(f, w, stride, x, ys[j])
		}
		middle := time.Now()
		RowsMany(f, w, stride, xs, ys)
		alone, many = min(alone, middle.Sub(start)), min(many, time.Since(middle))
	}
	macs := float64(inputs) * rows * benchCols
	b.ReportMetric(macs/float64(alone.Nanoseconds()), "GMAC/s-alone")
	b.ReportMetric(macs/float64(many.Nanoseconds()), "GMAC/s")
	b.ReportMetric(float64(alone)/float64(many), "gain")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkInt8 measures one core: 64 rows times some inputs, as floats and as bytes. Both
// take turns; "gain" is the ratio of their shortest times.
func BenchmarkInt8(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range quant.Formats() {
			if _, ok := backendNamed(b, name).int8[f.Type]; !ok {
				continue
			}
			for _, inputs := range []int{1, 16} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, f.Name, inputs), func(b *testing.B) { benchmarkInt8(b, f, inputs) })
			}
		}
	}
}

// backendNamed switches to a back end and returns it.
func backendNamed(b *testing.B, name string) *backend {
	useBackend(b, name)
	return active.Load()
}

func benchmarkInt8(b *testing.B, f *quant.Format, inputs int) {
	const rows = 512
	r := rand.New(rand.NewPCG(1, 2))
	w := randomBlocks(r, f, rows*benchCols/f.BlockElems)
	stride := len(w) / rows
	xs, ys := make([][]float32, inputs), make([][]float32, inputs)
	for j := range xs {
		xs[j], ys[j] = randomFloats(r, benchCols), make([]float32, rows)
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	ins := [2]Inputs{{}, {Int8: true}}
	for b.Loop() {
		for i := range ins {
			start := time.Now()
			ins[i].Set(f, xs)
			Product(f, w, stride, &ins[i], ys)
			best[i] = min(best[i], time.Since(start))
		}
	}
	macs := float64(inputs) * rows * benchCols
	b.ReportMetric(macs/float64(best[0].Nanoseconds()), "GMAC/s-floats")
	b.ReportMetric(macs/float64(best[1].Nanoseconds()), "GMAC/s")
	b.ReportMetric(float64(best[0])/float64(best[1]), "gain")
	b.ReportMetric(0, "ns/op")
}
