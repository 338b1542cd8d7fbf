package linalg

import (
	"slices"
	"testing"

	"mla/runtime/quant"
)

// TestKernelsComplete checks that every format has assembly, and that formats whose sums of one row wait for each other have a
// loop for four rows. A missing entry would fall back silently.
func TestKernelsComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for _, f := range quant.Formats() {
			k := b.kernels[f.Type]
			if k.one == nil || k.step%f.BlockElems != 0 {
				t.Errorf("%s has no loop for %s", b.name, f.Name)
			}
			if k.floats != nil && (k.floats.one == nil || k.decode == nil || k.step%k.floats.step != 0) {
				t.Errorf("%s: %s has no loop for several inputs", b.name, f.Name)
			}
			if k.floats != nil && k.four == nil {
				t.Errorf("%s: %s has no loop for four rows", b.name, f.Name)
			}
		}
	}
}

// TestProductsComplete checks what AddProduct relies on: the loops cover every number of rows, and every multiple of
// ProductCols columns.
func TestProductsComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for i, p := range b.products {
			last := i == len(b.products)-1 || b.products[i+1].cols < p.cols
			if last != (p.rows == 1) {
				t.Errorf("%s: loop %d is for %d rows of %d columns", b.name, i, p.rows, p.cols)
			}
		}
		if last := b.products[len(b.products)-1]; last.cols != ProductCols {
			t.Errorf("%s: the narrowest loops have %d columns", b.name, last.cols)
		}
	}
}

// TestTilesComplete checks what RowsMany relies on: tiles with more inputs come first, and tiles leave at most one input.
func TestTilesComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for _, f := range quant.Formats() {
			if b.kernels[f.Type].floats != nil {
				continue // has no tiles
			}
			var inputs []int
			for _, tile := range b.kernels[f.Type].tiles {
				if tile.run != nil && tile.rows > 0 {
					inputs = append(inputs, tile.inputs)
				}
			}
			if k := b.kernels[f.Type]; (k.stretch.add != nil && k.stretch.sum != nil) != (k.tiles[0].inputs == 2) {
				t.Errorf("%s: %s has no loop for %d inputs", b.name, f.Name, stretchInputs)
			}
			if !slices.Equal(inputs, []int{4, 2}) && !slices.Equal(inputs, []int{2}) {
				t.Errorf("%s: tiles of %s for %d inputs", b.name, f.Name, inputs)
			}
		}
	}
}

// TestPanelsComplete checks what Product relies on. Every format whose loops have one running sum has panels. Loops with more
// inputs come first. A stretch and a step are whole groups of a panel, and the number of sums is a multiple of four.
func TestPanelsComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		p := b.panels
		for _, f := range quant.Formats() {
			pf, k := p.formats[f.Type], b.kernels[f.Type]
			want := b == &avx512Backend || k.stretch.add != nil
			if k.floats != nil { // the panel holds decoded floats, so its sums must have the bits of the loops over floats
				want = pf.decode != nil
				if pf.viaFloats != want || want && (b != &avx512Backend || k.floats.step != p.lanes*2) {
					t.Errorf("%s: the panel of %s is not of decoded rows", b.name, f.Name)
				}
			}
			if (pf.decode != nil) != want {
				t.Errorf("%s: %s has a panel: %v, want %v", b.name, f.Name, !want, want)
			}
			if pf.decode == nil {
				continue
			}
			input := pf.elems
			if k.arranged != nil {
				input = k.arranged.size(pf.elems)
			}
			if k.step%pf.elems != 0 || panelStretch%pf.elems != 0 || input != pf.input {
				t.Errorf("%s: %s has groups of %d elements, %d floats of an input", b.name, f.Name, pf.elems, pf.input)
			}
			for i, l := range pf.loops {
				if l.inputs > mostPanelInputs || i > 0 && l.inputs >= pf.loops[i-1].inputs || p.rows*l.inputs%4 != 0 {
					t.Errorf("%s: %s: loop %d of panels has %d inputs", b.name, f.Name, i, l.inputs)
				}
			}
		}
	}
}

// TestInt8Complete checks that every block format has loops for bytes, with VNNI and without. Formats without a code book also
// need loops for four rows.
func TestInt8Complete(t *testing.T) {
	for name, kernels := range map[string]map[quant.Type]kernel{"AVX2": int8Kernels, "AVX-512": int8Kernels512} {
		for _, f := range quant.Formats() {
			if k := kernels[f.Type]; (k.one != nil) != (f.BlockElems > 1) || k.one != nil && ((k.four == nil) != (f.Book != nil) || k.tiles[0].run == nil || k.arranged == nil || k.step%f.BlockElems != 0) {
				t.Errorf("%s: loops of bytes of %s are not complete", name, f.Name)
			}
		}
	}
}
