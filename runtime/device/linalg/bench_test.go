package linalg

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"mla/runtime/quant"
)

// The benchmarks stream benchBytes of weights, more than caches hold, in rows of
// benchCols elements.
const (
	benchBytes = 128 << 20
	benchCols  = 2048
)

// BenchmarkRows measures one core, per back end and format.
func BenchmarkRows(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range quant.Formats() {
			b.Run(name+"/"+f.Name, func(b *testing.B) { benchmarkRows(b, name, f, 1) })
		}
	}
}

// BenchmarkRowsAllCores measures what the memory of the machine allows.
func BenchmarkRowsAllCores(b *testing.B) {
	for _, name := range backendNames() {
		for _, f := range []*quant.Format{formatOf(quant.Q4_0), formatOf(quant.Q4_K), formatOf(quant.Q6_K), formatOf(quant.Q8_0), formatOf(quant.F16)} {
			b.Run(name+"/"+f.Name, func(b *testing.B) { benchmarkRows(b, name, f, runtime.GOMAXPROCS(0)) })
		}
	}
}

func benchmarkRows(b *testing.B, backend string, f *quant.Format, cores int) {
	useBackend(b, backend)
	stride, err := f.RowBytes(benchCols)
	if err != nil {
		b.Fatal(err)
	}
	perCore := benchBytes / stride / cores
	rows := perCore * cores
	row := make([]byte, stride)
	f.Quantize(row, randomFloats(rand.New(rand.NewPCG(1, 2)), benchCols))
	w := make([]byte, rows*stride)
	for r := range rows {
		copy(w[r*stride:], row)
	}
	x, y := randomFloats(rand.New(rand.NewPCG(3, 4)), benchCols), make([]float32, rows)
	b.SetBytes(int64(len(w)))
	for b.Loop() {
		var wait sync.WaitGroup
		for first := 0; first < rows; first += perCore {
			wait.Go(func() { Rows(f, w[first*stride:], stride, x, y[first:first+perCore]) })
		}
		wait.Wait()
	}
	b.ReportMetric(float64(b.N)*float64(rows)*benchCols/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

// BenchmarkVectors measures the float loops on vectors as long as a latent row.
func BenchmarkVectors(b *testing.B) {
	const n = 576
	r := rand.New(rand.NewPCG(5, 6))
	x, y, h, qs := randomFloats(r, n), randomFloats(r, n), make([]uint16, n), make([]byte, n)
	loops := []struct {
		name string
		run  func()
	}{
		{"DotF32", func() { DotF32(x, y) }},
		{"Axpy", func() { Axpy(y, 1e-9, x) }},
		{"Fade", func() { Fade(y, x, 1e-9, x) }},
		{"HalvesToFloats", func() { HalvesToFloats(x, h) }},
		{"FloatsToHalves", func() { FloatsToHalves(h, x) }},
		{"ScaledBytesToFloats", func() { ScaledBytesToFloats(x, qs, h) }},
	}
	for _, name := range backendNames() {
		for _, loop := range loops {
			b.Run(name+"/"+loop.name, func(b *testing.B) {
				useBackend(b, name)
				for b.Loop() {
					loop.run()
				}
				b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e9, "Gelem/s")
			})
		}
	}
}

// BenchmarkSplitRows measures one core, beside a plain copy.
func BenchmarkSplitRows(b *testing.B) {
	src, dst := make([]byte, benchBytes), make([]byte, 4<<20) // split rows are longer
	for i := range src {
		src[i] = byte(i)
	}
	measure := func(name string, unit int, do func(dst, src []byte)) {
		b.Run(name, func(b *testing.B) {
			piece := len(dst) / 2 / unit * unit
			b.SetBytes(int64(len(src) / piece * piece))
			for b.Loop() {
				for at := 0; at+piece <= len(src); at += piece {
					do(dst, src[at:at+piece])
				}
			}
		})
	}
	measure("copy", 1, func(dst, src []byte) { copy(dst, src) })
	for _, f := range []*quant.Format{formatOf(quant.Q4_0), formatOf(quant.Q8_0), formatOf(quant.Q6_K)} {
		row, err := f.RowBytes(benchCols)
		if err != nil {
			b.Fatal(err)
		}
		measure(f.Name, row, func(dst, src []byte) { f.SplitRows(dst, src, benchCols) })
	}
}
