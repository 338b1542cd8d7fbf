package linalg

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"mla/runtime/quant"
)

// guarded returns n writable bytes between two inaccessible pages. The last byte is right before the second page, so a read past
// the end is a fault. A read before the first page of the bytes is one, too.
func guarded(t *testing.T, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{m[:page], m[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return m[page : page+size]
}

// floatsIn returns the last n floats in b.
func floatsIn(b []byte, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[len(b)-4*n])), n)
}

// faults runs f and reports whether it touched an inaccessible page.
func faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	f()
	return false
}

// guardArranged makes the next call arrange inputs of elems elements in memory from guarded.
func guardArranged(f *quant.Format, memory []byte, inputs, elems int) {
	k := active.Load().kernels[f.Type]
	if k.arranged == nil {
		return
	}
	if size := inputs * k.arranged.size(elems/k.step*k.step); size > 0 {
		inputsFree.first = &Inputs{floats: floatsIn(memory, size)}
	}
}

// guardPanel makes the next call put its panel of some rows, and its sums, in memory from guarded.
func guardPanel(f *quant.Format, memory [2][]byte, rows, elems int) {
	p, k := active.Load().panels, active.Load().kernels[f.Type]
	if p == nil || p.formats[f.Type].decode == nil || elems < k.step {
		return
	}
	pf, padded := p.formats[f.Type], (rows+p.rows-1)/p.rows*p.rows
	in := inputsFree.first
	if k.arranged == nil || in == nil {
		in = &Inputs{}
		inputsFree.first = in
	}
	in.panel = floatsIn(memory[0], padded*(elems/k.step*k.step)/pf.elems*pf.floats)
	in.sums = floatsIn(memory[1], padded*mostPanelInputs*p.lanes)
}

// TestInt8StaysInside puts rows, and inputs of bytes, right before inaccessible pages, and the first row right after one.
func TestInt8StaysInside(t *testing.T) {
	const rows, inputs, elems = 5, 7, 2*quant.SuperBlock + 64
	r := rand.New(rand.NewPCG(13, 13))
	for _, name := range backendNames() {
		useBackend(t, name)
		for typ, k := range active.Load().int8 {
			f, _ := quant.Lookup(typ)
			blocks := elems / f.BlockElems
			last := guarded(t, rows*blocks*f.BlockBytes)
			copy(last, randomBlocks(r, f, len(last)/f.BlockBytes))
			x, arranged := guarded(t, 4*elems), guarded(t, 8*inputs*elems)
			n := blocks * f.BlockElems
			for _, w := range [][]byte{last[len(last)-rows*blocks*f.BlockBytes:], last[:rows*blocks*f.BlockBytes]} {
				for count := 1; count <= inputs; count++ {
					in := Inputs{Int8: true, floats: floatsIn(arranged, count*k.arranged.size(n/k.step*k.step))}
					xs, ys := make([][]float32, count), make([][]float32, count)
					for j := range xs {
						xs[j], ys[j] = floatsIn(x, n), make([]float32, rows)
					}
					if faults(func() { in.Set(f, xs); Product(f, w, blocks*f.BlockBytes, &in, ys) }) {
						t.Errorf("%s %s: %d inputs: access outside the rows or inputs", name, f.Name, count)
					}
				}
			}
		}
	}
}

// forgetArranged drops the memory that guardArranged set.
func forgetArranged() { inputsFree.first = nil }

// TestRowsStayInside puts the last row, x and y right before inaccessible pages,
// and the first row right after one, in every back end, format and length.
func TestRowsStayInside(t *testing.T) {
	const rows, maxBlocks = 5, 64
	r := rand.New(rand.NewPCG(11, 11))
	defer forgetArranged()
	for _, f := range quant.Formats() {
		last := guarded(t, rows*maxBlocks*f.BlockBytes)
		xs, ys := guarded(t, 4*maxBlocks*f.BlockElems), guarded(t, 4*rows)
		in := guarded(t, 5*maxBlocks*f.BlockElems)
		copy(last, randomBlocks(r, f, len(last)/f.BlockBytes))
		for _, name := range backendNames() {
			useBackend(t, name)
			for blocks := 1; blocks <= maxBlocks; blocks++ {
				stride := blocks * f.BlockBytes
				x, y := floatsIn(xs, blocks*f.BlockElems), floatsIn(ys, rows)
				for _, w := range [][]byte{last[len(last)-rows*stride:], last[:rows*stride]} {
					guardArranged(f, in, 1, len(x))
					if faults(func() { Rows(f, w, stride, x, y) }) {
						t.Errorf("%s %s: %d blocks: access outside the rows, x or y", name, f.Name, blocks)
					}
				}
			}
		}
	}
}

// TestRowsManyStayInside does the same for rows times several inputs, which all end
// right before inaccessible pages.
func TestRowsManyStayInside(t *testing.T) {
	const rows, inputs = 5, 10
	r := rand.New(rand.NewPCG(12, 12))
	defer forgetArranged()
	for _, f := range quant.Formats() {
		lengths := manyLengths(f)
		maxBlocks := lengths[len(lengths)-1]
		last := guarded(t, rows*maxBlocks*f.BlockBytes)
		copy(last, randomBlocks(r, f, len(last)/f.BlockBytes))
		in := guarded(t, 5*inputs*maxBlocks*f.BlockElems)
		room := [2][]byte{guarded(t, 8*4*2*maxBlocks*f.BlockElems), guarded(t, 8*4*mostPanelInputs*16)}
		var xs, ys [inputs][]byte
		for j := range xs {
			xs[j], ys[j] = guarded(t, 4*maxBlocks*f.BlockElems), guarded(t, 4*rows)
		}
		for _, name := range backendNames() {
			useBackend(t, name)
			panelsFrom(t, 8)
			for _, blocks := range lengths {
				stride := blocks * f.BlockBytes
				var x, y [inputs][]float32
				for j := range x {
					x[j], y[j] = floatsIn(xs[j], blocks*f.BlockElems), floatsIn(ys[j], rows)
				}
				for _, w := range [][]byte{last[len(last)-rows*stride:], last[:rows*stride]} {
					for n := 1; n <= inputs; n++ {
						guardArranged(f, in, n, blocks*f.BlockElems)
						guardPanel(f, room, rows, blocks*f.BlockElems)
						if faults(func() { RowsMany(f, w, stride, x[:n], y[:n]) }) {
							t.Errorf("%s %s: %d blocks, %d inputs: access outside the rows, inputs or results", name, f.Name, blocks, n)
						}
					}
				}
			}
		}
	}
}

// TestVectorsStayInside does the same for the float loops.
func TestVectorsStayInside(t *testing.T) {
	as, bs, hs := guarded(t, 4*vectorLengths), guarded(t, 4*vectorLengths), guarded(t, 2*vectorLengths)
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := 1; n < vectorLengths; n++ {
			a, b := floatsIn(as, n), floatsIn(bs, n)
			h := unsafe.Slice((*uint16)(unsafe.Pointer(&hs[len(hs)-2*n])), n)
			if faults(func() {
				DotF32(a, b)
				Axpy(a, 1, b)
				Fade(a, b, 1, b)
				Scale(a, 1)
				HalvesToFloats(a, h)
				FloatsToHalves(h, a)
				if blocks := n / 32; blocks > 0 && n%32 == 0 {
					qs := unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), 4*n)[3*n:]
					ScaledBytesToFloats(a, qs, h[n-blocks:])
				}
			}) {
				t.Errorf("%s: %d floats: access outside the vectors", name, n)
			}
		}
	}
}

// TestExpsStayInside does the same for the exponentials.
func TestExpsStayInside(t *testing.T) {
	as := guarded(t, 4*vectorLengths)
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := VectorStep; n < vectorLengths; n += VectorStep {
			if faults(func() { Exps(floatsIn(as, n)) }) {
				t.Errorf("%s: %d floats: access outside the vector", name, n)
			}
		}
	}
}

// TestProductsStayInside puts the last rows of a product right before
// inaccessible pages, and no floats between the rows.
func TestProductsStayInside(t *testing.T) {
	const maxRows, maxCols, maxTerms = 40, 150, 5
	as, bs, cs := guarded(t, 4*maxRows*maxTerms), guarded(t, 4*maxTerms*maxCols), guarded(t, 4*maxRows*maxCols)
	for _, name := range backendNames() {
		useBackend(t, name)
		for rows := 1; rows <= maxRows; rows++ {
			for _, cols := range productSizes.cols[1:] {
				terms := 1 + (rows+cols)%maxTerms
				a := Matrix{Data: floatsIn(as, rows*terms), Rows: rows, Cols: terms, Row: terms, Col: 1}
				if cols%2 == 0 {
					a.Row, a.Col = 1, rows
				}
				b := Matrix{Data: floatsIn(bs, terms*cols), Rows: terms, Cols: cols, Row: cols, Col: 1}
				c := Matrix{Data: floatsIn(cs, rows*cols), Rows: rows, Cols: cols, Row: cols, Col: 1}
				if faults(func() { AddProduct(&c, &a, &b) }) {
					t.Errorf("%s: %d × %d × %d: access outside the matrices", name, rows, terms, cols)
				}
			}
		}
	}
}

// TestFaultsAreSeen checks that a read outside guarded memory is reported, so that the tests above can fail.
func TestFaultsAreSeen(t *testing.T) {
	b := guarded(t, 64)
	past := unsafe.Slice(&b[0], len(b)+1)
	if !faults(func() { past[len(b)]++ }) {
		t.Error("a write after the end was not noticed")
	}
}
