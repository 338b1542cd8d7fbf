package linalg

import (
	"math/rand/v2"
	"testing"
	"time"

	"mla/runtime/quant"
)

// BenchmarkRatios reports, per back end and format, bytes of weights per second as a part of those of Q4_K. Weights are
// in the second cache, so that instructions count alone. Both are measured in turn, and of each the shortest time
// counts: on a busy machine read nothing else.
func BenchmarkRatios(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range quant.Formats() {
			b.Run(name+"/"+f.Name, func(b *testing.B) {
				useBackend(b, name)
				format, standard := timeOfRows(b, f), timeOfRows(b, formatOf(quant.Q4_K))
				var best [2]time.Duration
				for b.Loop() {
					for i, run := range []func() time.Duration{format, standard} {
						if d := run(); best[i] == 0 || d < best[i] {
							best[i] = d
						}
					}
				}
				bytes := func(f *quant.Format) float64 { return float64(f.BlockBytes) / float64(f.BlockElems) }
				b.ReportMetric(bytes(f)/bytes(formatOf(quant.Q4_K))*best[1].Seconds()/best[0].Seconds(), "of-q4_k")
				b.ReportMetric(ratioRows*benchCols/best[0].Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

const ratioRows = 32

// timeOfRows returns what times a product of some rows of a format.
func timeOfRows(b *testing.B, f *quant.Format) func() time.Duration {
	stride, err := f.RowBytes(benchCols)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(51, uint64(f.Type)))
	w, x, y := randomBlocks(r, f, ratioRows*benchCols/f.BlockElems), randomFloats(r, benchCols), make([]float32, ratioRows)
	return func() time.Duration {
		start := time.Now()
		Rows(f, w, stride, x, y)
		return time.Since(start)
	}
}
