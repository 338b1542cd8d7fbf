package linalg

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"mla/runtime/quant"
)

// backwards returns a library that adds in reverse order.
func backwards(t *testing.T, calls *int) *Library {
	return &Library{Name: "backwards", Multiply: func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
		*calls++
		if lda < k || ldb < k || ldc < n || n > PanelRows {
			t.Errorf("a product of %d × %d × %d with rows %d, %d and %d floats apart", m, n, k, lda, ldb, ldc)
			return
		}
		x, w, y := unsafe.Slice(a, (m-1)*lda+k), unsafe.Slice(b, (n-1)*ldb+k), unsafe.Slice(c, (m-1)*ldc+n)
		for i := range m {
			for j := range n {
				sum := float32(0)
				for e := k - 1; e >= 0; e-- {
					sum += x[i*lda+e] * w[j*ldb+e]
				}
				y[i*ldc+j] = sum
			}
		}
	}}
}

// TestLibrary checks that products of many inputs go through a library, for every format and any placement of
// inputs and results. Products of few inputs, of bytes and of plain Go do not.
func TestLibrary(t *testing.T) {
	calls := 0
	l := backwards(t, &calls)
	t.Cleanup(func() { SetLibrary(nil) })
	const elems, rows = 512, PanelRows + 5
	random := rand.New(rand.NewPCG(1, 2))
	for _, f := range quant.Formats() {
		values := make([]float32, elems)
		stride := elems/f.BlockElems*f.BlockBytes + 16
		w := make([]byte, rows*stride)
		for r := range rows {
			for i := range values {
				values[i] = float32(random.NormFloat64())
			}
			f.Quantize(w[r*stride:], values)
		}
		for _, apart := range []int{elems, elems + 3, 0} {
			xs, want, ys := scattered(LibraryInputs, elems, apart, random), scattered(LibraryInputs, rows, rows, nil), scattered(LibraryInputs, rows, apart, nil)
			SetLibrary(nil)
			RowsMany(f, w, stride, xs, want)
			if calls != 0 {
				t.Fatalf("%s: the library multiplies, although it is not set", f.Name)
			}
			SetLibrary(l)
			RowsMany(f, w, stride, xs, ys)
			if active.Load() != &goBackend && calls == 0 {
				t.Fatalf("%s: the library does not multiply", f.Name)
			}
			calls = 0
			for r := range rows {
				f.Dequantize(values, w[r*stride:])
				for i := range xs {
					size := 0.0
					for e, x := range xs[i] {
						size += math.Abs(float64(x * values[e]))
					}
					if d := math.Abs(float64(ys[i][r]) - float64(want[i][r])); !(d <= LibraryError(elems)*size) {
						t.Fatalf("%s: row %d of input %d is %g; the loops make %g", f.Name, r, i, ys[i][r], want[i][r])
					}
				}
			}
		}
	}
	f, _ := quant.Lookup(quant.Q4_0)
	w, stride := make([]byte, rows*elems), elems/f.BlockElems*f.BlockBytes
	RowsMany(f, w, stride, scattered(LibraryInputs-1, elems, elems, nil), scattered(LibraryInputs-1, rows, rows, nil))
	RowsMany(f, w, stride, scattered(LibraryInputs, elems, elems, nil), scattered(LibraryInputs, 0, 1, nil))
	in := Inputs{Int8: true}
	if HasInt8() {
		in.Set(f, scattered(LibraryInputs, elems, elems, nil))
		Product(f, w, stride, &in, scattered(LibraryInputs, rows, rows, nil))
	}
	before := Backend()
	if err := SetBackend("go"); err != nil {
		t.Fatal(err)
	}
	RowsMany(f, w, stride, scattered(LibraryInputs, elems, elems, nil), scattered(LibraryInputs, rows, rows, nil))
	if err := SetBackend(before); err != nil {
		t.Fatal(err)
	}
	if calls != 0 {
		t.Errorf("the library has multiplied what is not for it")
	}
	if message := panicOf(func() {
		RowsMany(f, w[:8], stride, scattered(LibraryInputs, elems, elems, nil), scattered(LibraryInputs, rows, rows, nil))
	}); !strings.Contains(message, "do not fit") {
		t.Errorf("too few weights: %q", message)
	}
}

func panicOf(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message, _ = r.(string)
		}
	}()
	f()
	return ""
}

// scattered returns n vectors that begin some floats apart, or anywhere if apart is 0. They have random
// values if random is not nil.
func scattered(n, size, apart int, random *rand.Rand) [][]float32 {
	list := make([][]float32, n)
	all := make([]float32, n*(max(apart, size)+1))
	for i := range list {
		at := i * apart
		if apart == 0 {
			at = (n - 1 - i) * (size + 1) // backwards
		}
		list[i] = all[at : at+size]
		for e := range list[i] {
			if random != nil {
				list[i][e] = float32(random.NormFloat64())
			}
		}
	}
	return list
}
