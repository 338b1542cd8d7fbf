package describe_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// The model of gen/lower/testdata/small.yaml: hidden 64, 2 layers (dense,
// experts), 2 heads, ranks 32 and 64, key 32+16, value 24, all float32.
const (
	attnElems  = 64*32 + 32*2*48 + 64*80 + 2*32*64 + 2*64*24 + 48*64 // q_a, q_b, kv_a, k_b, v_b, o
	denseElems = 3 * 64 * 128
	moeElems   = 64*8 + 2*3*64*32 + 3*64*32 // router, two experts of eight, one shared
	headElems  = 96 * 64
	matElems   = 2*attnElems + denseElems + moeElems + headElems
	cacheRow   = 2 * (64 + 16) // bytes, f16
)

// TestCounts holds the report to numbers counted from the shapes.
func TestCounts(t *testing.T) {
	s, err := spec.Load("../lower/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for depth, splits := range []int64{1, 1, 2, 2, 3, 3, 4, 4, 3, 3} { // at most 4 splits of whole tiles of 2 rows
		r, rows := describe.Must(t, b, 0, depth), int64(depth)+1
		if want := int64(4 * (matElems + 64)); r.WeightBytesPerToken != want { // and one row of the embedding
			t.Errorf("%d weight bytes, want %d", r.WeightBytesPerToken, want)
		}
		attention := 2 * 2 * (64 + 16 + 64) * rows // per layer: 2 heads, multiply and add
		if want := 2*matElems + 2*attention; r.FlopsPerToken != want {
			t.Errorf("depth %d: %d flop, want %d", depth, r.FlopsPerToken, want)
		}
		if r.KVBytesPerContextToken != 2*cacheRow {
			t.Errorf("%d cache bytes per context token, want %d", r.KVBytesPerContextToken, 2*cacheRow)
		}
		for _, d := range r.Dispatches {
			if d.Kernel != "attend" {
				continue
			}
			queries, sums := int64(4*(2*64+2*48)), 4*(2*64+2*2)*splits // sums and (maximum, sum) per head
			if want := cacheRow*rows + queries + 16; d.BytesRead != want || d.BytesWritten != sums {
				t.Errorf("depth %d: attention reads %d and writes %d, want %d and %d", depth, d.BytesRead, d.BytesWritten, want, sums)
			}
		}
		want := (float64(r.WeightBytesPerToken) + float64(2*cacheRow*rows)) / 1e5 // µs at 100 GB/s
		// The same products in another order.
		if got := 1e6 / r.Predictions[0].CeilingTokSec; math.Abs(got-want) > 1e-12*want {
			t.Errorf("depth %d: ceiling of %g µs on %s, want %g", depth, got, r.Predictions[0].Device, want)
		}
	}
}

// TestWidths checks that a replay of several rows reads each matrix once and multiplies every row by it. It
// reads as many experts as the rows select on average.
func TestWidths(t *testing.T) {
	s, err := spec.Load("../lower/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	widths := []int{1, 4, 16, 32}
	for class, batch := range map[string]int{"": 16, plan.ClassNVIDIA: 32} {
		b, err := gen.Compile(s.WithClass(class).WithSequences(widths...), nil)
		if err != nil {
			t.Fatal(err)
		}
		checkWidths(t, b, batch, widths)
	}
}

// checkWidths checks the description of each width of a bundle whose batches have up to batch rows.
func checkWidths(t *testing.T, b *plan.Bundle, batch int, widths []int) {
	t.Helper()
	const expert, depth = 3 * 64 * 32, 9
	for _, rows := range widths {
		r, err := describe.Make(b, 0, depth, rows)
		if err != nil || r.Rows != rows || r.BatchRows != batch {
			t.Fatal(r, err)
		}
		distinct := 2.0
		if rows > 1 {
			distinct = 8 * (1 - math.Pow(1-2./8, float64(rows)))
		}
		i := slices.Index(widths, rows)
		w, want := r.Widths[i], 4*(float64(matElems-2*expert)+distinct*expert+64*float64(rows))
		// The rows of each matrix are whole.
		if math.Abs(float64(w.WeightBytes)-want) > 4*3*64 || w.Rows != rows || w.Dispatches != len(r.Dispatches) {
			t.Errorf("%d rows: %+v; want %.0f weight bytes, %d dispatches", rows, w, want, len(r.Dispatches))
		}
		if flops := int64(rows) * (2*matElems + 2*2*2*(64+16+64)*(depth+1)); rows <= batch && w.Flops != flops {
			t.Errorf("%d rows: %d flop, want %d", rows, w.Flops, flops)
		}
	}
	if _, err := describe.Make(b, 0, 0, 5); err == nil || !strings.Contains(err.Error(), "no sequence of 5 rows; it has those of [1 4 16 32]") {
		t.Error(err)
	}
}
