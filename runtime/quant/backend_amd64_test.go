package quant

import (
	"slices"
	"testing"
)

// TestKernelsComplete checks that no format falls back to Go in silence.
func TestKernelsComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for _, f := range Formats() {
			if k, ok := b.kernels[f.Type]; !ok || k.one == nil || k.step%f.BlockElems != 0 {
				t.Errorf("%s has no loop for %s", b.name, f.Name)
			}
		}
	}
}

// TestProductsComplete checks the order that AddProduct relies on: every number
// of rows is done, and every multiple of ProductCols columns.
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

// TestTilesComplete checks what RowsMany relies on: tiles come with most inputs first,
// and what they leave over is one input.
func TestTilesComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for _, f := range Formats() {
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
