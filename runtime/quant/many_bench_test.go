package quant

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkRowsMany measures one core: 64 rows times several inputs, beside the same
// inputs one by one. Both take turns; "gain" is the ratio of their shortest times,
// which other work on the machine disturbs least.
func BenchmarkRowsMany(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range Formats() {
			for _, inputs := range []int{2, 4, 8, 16} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, f.Name, inputs), func(b *testing.B) { benchmarkRowsMany(b, name, f, inputs) })
			}
		}
	}
}

func benchmarkRowsMany(b *testing.B, backend string, f *Format, inputs int) {
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
			f.Rows(w, stride, x, ys[j])
		}
		middle := time.Now()
		f.RowsMany(w, stride, xs, ys)
		alone, many = min(alone, middle.Sub(start)), min(many, time.Since(middle))
	}
	macs := float64(inputs) * rows * benchCols
	b.ReportMetric(macs/float64(alone.Nanoseconds()), "GMAC/s-alone")
	b.ReportMetric(macs/float64(many.Nanoseconds()), "GMAC/s")
	b.ReportMetric(float64(alone)/float64(many), "gain")
	b.ReportMetric(0, "ns/op")
}
