package linalg

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mla/runtime/quant"
)

// exactDot returns Σ w[i]·x[i] of the dequantised row, and Σ |w[i]·x[i]|, in float64.
func exactDot(f *quant.Format, row []byte, x []float32) (sum, magnitude float64) {
	w := make([]float32, len(x))
	f.Dequantize(w, row)
	for i := range w {
		p := float64(w[i]) * float64(x[i])
		sum += p
		magnitude += math.Abs(p)
	}
	return sum, magnitude
}

// dotBound bounds the error of a float32 dot product of n elements. Each rounding between a product and the result moves the
// product by at most 2^-24 of itself. The most roundings are in
//
//   - the Go loops: n/32 sums of blocks, and 64 within a superblock (a quarter of its elements);
//   - AVX-512: n/16 in the running sums over superblocks;
//   - AVX2: n/32 sums of blocks, or n/64 of pairs of blocks, and nine within a block. These loops count codes from the smallest
//     one, so single sums are a few times larger than magnitude.
//
// The rest covers the products and the final reduction. 2^-126·n covers products that are subnormal.
func dotBound(n int, magnitude float64) float64 {
	return (float64(n)/16+80)*0x1p-24*magnitude + float64(n)*0x1p-126
}

// rowLengths are the numbers of blocks to test; for formats without blocks they
// are numbers of elements.
func rowLengths(f *quant.Format) []int {
	var lengths []int
	for n := 1; n <= 64; n++ {
		lengths = append(lengths, n)
	}
	if f.BlockElems == 1 {
		lengths = append(lengths, 65, 95, 96, 97, 127, 128, 255, 576, 2047, 2048)
	}
	return lengths
}

// TestRows checks every back end against exact sums, for all lengths, for rows that begin at every address
// modulo 4, and for x at every float modulo 16.
func TestRows(t *testing.T) {
	const rows = 6 // four at once, then one by one
	for _, name := range backendNames() {
		t.Run(name, func(t *testing.T) {
			useBackend(t, name)
			for _, f := range quant.Formats() {
				r := rand.New(rand.NewPCG(9, uint64(f.Type)))
				for _, blocks := range rowLengths(f) {
					testRows(t, r, f, blocks, rows)
				}
			}
		})
	}
}

func testRows(t *testing.T, r *rand.Rand, f *quant.Format, blocks, rows int) {
	n, rowBytes := blocks*f.BlockElems, blocks*f.BlockBytes
	start, gap, shift := blocks%4, blocks%3, blocks%16
	stride := rowBytes + gap
	w := bytes.Repeat([]byte{0xff}, start+rows*stride)[start:]
	for i := range rows {
		copy(w[i*stride:], randomBlocks(r, f, blocks))
	}
	x := randomFloats(r, n+shift)[shift:]
	y := make([]float32, rows)
	Rows(f, w, stride, x, y)
	for i, got := range y {
		want, magnitude := exactDot(f, w[i*stride:], x)
		if e := math.Abs(float64(got) - want); !(e <= dotBound(n, magnitude)) {
			t.Errorf("%s: %d blocks, row %d: %v, want %v: error %.3g, allowed %.3g",
				f.Name, blocks, i, got, want, e, dotBound(n, magnitude))
		}
	}
}

// TestRowsGrouping checks that a row's bits do not depend on its neighbours.
func TestRowsGrouping(t *testing.T) {
	const rows = 11
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, f := range quant.Formats() {
			r := rand.New(rand.NewPCG(10, uint64(f.Type)))
			n := 3*f.BlockElems + 61/f.BlockElems*f.BlockElems // with a tail where a format can have one
			stride, err := f.RowBytes(n)
			if err != nil {
				t.Fatal(err)
			}
			w := randomBlocks(r, f, rows*n/f.BlockElems)
			x := randomFloats(r, n)
			for group := 1; group <= rows; group++ {
				y := make([]float32, group)
				Rows(f, w, stride, x, y)
				for i, got := range y {
					if want := alone(f, w[i*stride:(i+1)*stride], x); got != want {
						t.Fatalf("%s %s: row %d of %d = %v, alone %v", name, f.Name, i, group, got, want)
					}
				}
			}
		}
	}
}

// TestAllocations checks that no function of the hot path allocates.
func TestAllocations(t *testing.T) {
	const n = 256
	x, h, y, z := make([]float32, n), make([]uint16, n), make([]float32, 5), make([]float32, n)
	for _, name := range backendNames() {
		useBackend(t, name)
		panelsFrom(t, 8)
		for _, f := range quant.Formats() {
			stride, err := f.RowBytes(n)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]byte, 5*stride)
			xs, ys := [][]float32{x, x, x}, [][]float32{y, y, y}
			many := slices.Repeat(xs, 3) // enough for a panel
			results := slices.Repeat(ys, 3)
			if allocs := testing.AllocsPerRun(10, func() {
				Rows(f, w, stride, x, y)
				RowsMany(f, w, stride, xs, ys)
				RowsMany(f, w, stride, many, results)
			}); allocs != 0 {
				t.Errorf("%s %s: %v allocations", name, f.Name, allocs)
			}
		}
		if allocs := testing.AllocsPerRun(10, func() {
			HalvesToFloats(x, h)
			Axpy(x, DotF32(x, x), x)
			Scale(x, 2)
			FloatsToHalves(h, x)
			Exps(x)
			row := Matrix{Data: x, Rows: 1, Cols: n, Row: n, Col: 1}
			one := Matrix{Data: y, Rows: 1, Cols: 1}
			AddProduct(&row, &one, &Matrix{Data: z, Rows: 1, Cols: n, Row: n, Col: 1})
		}); allocs != 0 {
			t.Errorf("%s: %v allocations by the vector functions", name, allocs)
		}
	}
}

// TestRowsShort checks that slices too short for the rows panic in Go, before
// assembly reads past them.
func TestRowsShort(t *testing.T) {
	tests := []struct {
		name      string
		w, stride int
		x, y      int
	}{
		{"last row cut", 4*18 - 1, 18, 32, 4},
		{"no rows", 0, 18, 32, 1},
		{"negative stride", 1000, -18, 32, 4},
		{"stride whose multiple overflows", 1000, math.MaxInt/2 + 1, 32, 5},
		{"part of a block", 1000, 18, 31, 4},
	}
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, tt := range tests {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s, %s: no panic", name, tt.name)
					}
				}()
				Rows(formatOf(quant.Q4_0), make([]byte, tt.w), tt.stride, make([]float32, tt.x), make([]float32, tt.y))
			}()
		}
	}
}

func TestRowsEmpty(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		Rows(formatOf(quant.Q4_0), nil, 18, make([]float32, 32), nil)
		y := []float32{7, 7}
		Rows(formatOf(quant.Q4_0), nil, 0, nil, y)
		if y[0] != 0 || y[1] != 0 {
			t.Errorf("%s: empty rows give %v, want 0", name, y)
		}
	}
}

func TestSetBackendUnknown(t *testing.T) {
	before := Backend()
	err := SetBackend("mmx")
	if err == nil || !strings.Contains(err.Error(), `"mmx"`) || !strings.Contains(err.Error(), "go") {
		t.Errorf("SetBackend(mmx) = %v", err)
	}
	if Backend() != before {
		t.Errorf("back end changed to %s", Backend())
	}
}

// codeBytes has the byte range of the codes within a block.
var codeBytes = map[quant.Type]struct{ from, to int }{
	quant.Q4_0: {2, 18}, quant.Q4_1: {4, 20}, quant.Q5_0: {2, 22}, quant.Q5_1: {4, 24}, quant.IQ4_NL: {2, 18}, quant.MXFP4: {1, 17},
	quant.Q4_K: {16, 144}, quant.Q5_K: {16, 176}, quant.Q6_K: {0, 192}, quant.IQ4_XS: {8, 136},
}

// exactSpan is exactDot for loops that count codes from the smallest one, and subtract the excess at the end. So the magnitude
// covers the range between the smallest and the largest value that an element could have.
func exactSpan(f *quant.Format, row []byte, x []float32) (sum, magnitude float64) {
	sum, magnitude = exactDot(f, row, x)
	codes, ok := codeBytes[f.Type]
	if !ok {
		return sum, magnitude
	}
	magnitude = 0
	low, high, w := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
	other := bytes.Clone(row)
	for code := range 16 {
		for b := 0; b < len(row); b += f.BlockBytes {
			for i := b + codes.from; i < b+codes.to; i++ {
				other[i] = byte(code * 0x11)
			}
		}
		f.Dequantize(w, other)
		for i, v := range w {
			if code == 0 {
				low[i], high[i] = v, v
			}
			low[i], high[i] = min(low[i], v), max(high[i], v)
		}
	}
	for i := range x {
		span := math.Abs(float64(high[i])) + math.Abs(float64(low[i]))
		magnitude += 2 * span * math.Abs(float64(x[i]))
	}
	return sum, magnitude
}

// FuzzDot feeds arbitrary rows to every back end. Where the exact sum is in the
// range of float32 they must agree with it.
func FuzzDot(f *testing.F) {
	for i := range quant.Formats() {
		f.Add(uint8(i), uint64(i), []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0})
		f.Add(uint8(i), uint64(i), []byte{0x88}) // Q4_0: zeros under a scale
	}
	f.Fuzz(func(t *testing.T, index uint8, seed uint64, data []byte) {
		format := quant.Formats()[int(index)%len(quant.Formats())]
		if len(data) == 0 {
			return
		}
		blocks := min(1+len(data)/format.BlockBytes, 8)
		row := bytes.Repeat(data, 1+blocks*format.BlockBytes/len(data))[:blocks*format.BlockBytes]
		x := randomFloats(rand.New(rand.NewPCG(seed, 0)), blocks*format.BlockElems)
		want, magnitude := exactSpan(format, row, x)
		if !(magnitude < math.MaxFloat32/2) {
			return
		}
		for _, name := range backendNames() {
			useBackend(t, name)
			got := alone(format, row, x)
			if e := math.Abs(float64(got) - want); !(e <= dotBound(len(x), magnitude)) {
				t.Errorf("%s %s: %v, want %v: error %g, allowed %g", name, format.Name, got, want, e, dotBound(len(x), magnitude))
			}
		}
	})
}
