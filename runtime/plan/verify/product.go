package verify

import (
	"cmp"
	"fmt"

	"mla/runtime/plan"
)

// The shape of products of weights and many rows' inputs in the template product.metal.
const (
	Block      = 8  // rows and columns of a simdgroup matrix
	TileInputs = 64 // inputs that a tile holds
	// SharedInputs is the maximum number of inputs of a tile if more than two simdgroups share its rows.
	SharedInputs = TileInputs / 4
)

// TokensOf is how many rows a part multiplies its weights by at a time; 0: the part is of one row, or has
// threadgroups for each row.
func TokensOf(p plan.Part) int {
	if m := plan.ProductOf(p); m != nil {
		return m.Tokens
	}
	return 0
}

// Matrices says whether a part multiplies with simdgroup matrices, by a tile of inputs. With fewer inputs
// than a matrix has columns, lanes multiply each input as they do a single one.
func Matrices(p plan.Part) bool { return TokensOf(p) >= Block }

// inputAlign is the alignment of a mat-vec's inputs, in elements: one load fetches eight halves.
const inputAlign = 8

// checkInputs checks that inputs are aligned to inputAlign.
func checkInputs(p plan.Part, m *plan.Product) error {
	if m.Norm != nil || m.Combine != nil { // these inputs are staged in threadgroup memory
		return nil
	}
	inputs := []plan.Vec{m.In}
	if e, ok := p.(*plan.ExpertsSum); ok && e.Shared >= 0 {
		inputs = append(inputs, e.SharedIn)
	}
	for _, in := range inputs {
		if in.Offset%inputAlign != 0 || in.Stride%inputAlign != 0 {
			return fmt.Errorf("inputs at %d, %d apart; expected multiples of %d", in.Offset, in.Stride, inputAlign)
		}
	}
	return nil
}

// checkRows checks that a simdgroup has a lane for each of its rows, and that the part's norms are possible.
func checkRows(k *plan.Kernel, m *plan.Product) error {
	if n := m.SplitK; n < 0 || n > 1 && k.Threads/SimdWidth%n != 0 {
		return fmt.Errorf("%d simdgroups share a row of %d in a threadgroup; expected a divisor", n, k.Threads/SimdWidth)
	}
	slices := max(m.SplitK, 1)
	if m.RowsPerGroup > k.Threads/slices {
		return fmt.Errorf("%d rows per threadgroup of %d threads; expected at most a row per thread", m.RowsPerGroup, k.Threads)
	}
	if a := m.NormApply; a != nil && (m.Norm != nil || a.Count < 1 || a.Count > maxDimension) {
		return fmt.Errorf("a norm of %d sums of squares, or a norm and half a norm", a.Count)
	}
	return checkNormPartial(m.NormPartial, m.Rows, ceil(m.RowsPerGroup, k.Threads/SimdWidth/slices))
}

// checkPieces checks that the part's template supports the product's optional pieces.
func checkPieces(p plan.Part, m *plan.Product) error {
	foreign := false
	switch p.(type) {
	case *plan.MatVec:
		foreign = m.Gating != nil
	case *plan.Experts:
		foreign = m.NormPartial != nil || m.Combine != nil
	case *plan.ExpertsSum:
		foreign = m.Up >= 0 || m.Tokens != 0 || m.Norm != nil || m.NormApply != nil || m.Combine != nil || m.Gating != nil
	}
	if foreign {
		return fmt.Errorf("%T with a piece that only other products have", p)
	}
	return nil
}

// checkProduct checks a product against the shapes that its templates support.
func checkProduct(k *plan.Kernel, p plan.Part, m *plan.Product) error {
	if err := checkPieces(p, m); err != nil {
		return err
	}
	if err := checkRows(k, m); err != nil {
		return err
	}
	if err := checkInputs(p, m); err != nil {
		return err
	}
	if err := checkLimit(m.Limit); err != nil || m.Limit > 0 && m.Up < 0 {
		return cmp.Or(err, fmt.Errorf("%T with a limit of a SwiGLU that it has not", p))
	}
	if m.Tokens < 0 || m.Tokens > 0 && k.Width == 0 {
		return fmt.Errorf("%T of %d rows at a time in a kernel of %d", p, m.Tokens, k.Width)
	}
	switch {
	case m.Tokens == 0:
		return nil
	case Matrices(p):
		return checkTile(k, p, m)
	}
	return checkFew(k, p, m)
}

// checkPairs checks for an even number of results where an epilogue reads more than the results: a lane has
// two neighbouring results, and loads and stores them as a pair.
func checkPairs(k *plan.Kernel, p plan.Part) error {
	var strides []int
	rows := 0
	switch p := p.(type) {
	case *plan.Experts:
		rows, strides = p.Rows, []int{k.Slots[p.Out.Slot].Stride, p.Out.Stride, p.Out.Offset}
	case *plan.MatVec:
		if p.Add < 0 && p.NormPartial == nil && p.Rope == nil {
			return nil
		}
		rows = p.Rows
		if p.Add >= 0 && p.Out.Slot >= 0 {
			strides = append(strides, k.Slots[p.Add].Stride, k.Slots[p.Out.Slot].Stride, p.Out.Stride, p.Out.Offset)
		}
		if p.NormPartial != nil {
			strides = append(strides, k.Slots[p.NormPartial.Ready].Stride)
		}
	}
	for _, n := range append(strides, rows) {
		if n%2 != 0 {
			return fmt.Errorf("%T of %d results, %d apart; expected multiples of 2", p, rows, n)
		}
	}
	return nil
}

// checkTile checks that simdgroups share the tile's loads and results evenly.
func checkTile(k *plan.Kernel, p plan.Part, m *plan.Product) error {
	tokens, slices, simdgroups := m.Tokens, max(m.SplitK, 1), k.Threads/SimdWidth
	rows := m.RowsPerGroup * slices / simdgroups // of weights, per simdgroup
	switch {
	case tokens%Block != 0 || tokens > TileInputs || slices > 2 && slices < simdgroups || slices > 2 && tokens > SharedInputs:
		return fmt.Errorf("tiles of %d rows for %d threads, %d of %d simdgroups to a row; expected one or two, or up to %d rows for all", tokens, k.Threads, slices, simdgroups, SharedInputs)
	case rows*simdgroups != m.RowsPerGroup*slices || rows != 2*Block && rows != 4*Block || Block*rows/SimdWidth%slices != 0 && slices%(Block*rows/SimdWidth) != 0:
		return fmt.Errorf("%d rows of weights for a threadgroup of %d simdgroups, %d to a row; expected 16 or 32 for each", m.RowsPerGroup, simdgroups, slices)
	}
	return checkPairs(k, p)
}

// checkFew checks that a mat-vec takes the few rows of its kernel at once, and has a lane for each result.
func checkFew(k *plan.Kernel, p plan.Part, m *plan.Product) error {
	_, ok := p.(*plan.MatVec)
	perSimdgroup := ceil(m.RowsPerGroup, k.Threads/SimdWidth/max(m.SplitK, 1))
	if !ok || m.Tokens != k.Width || m.Combine != nil || perSimdgroup*m.Tokens > SimdWidth {
		return fmt.Errorf("%T of %d rows at a time in a kernel of %d, %d results for each in a simdgroup; expected a mat-vec of all rows, and a lane for each result", p, m.Tokens, k.Width, perSimdgroup)
	}
	return nil
}

// IsPrompt says whether tiles with a number of inputs belong to a prompt: more than half of TileInputs.
func IsPrompt(tokens int) bool { return 2*tokens > TileInputs }
