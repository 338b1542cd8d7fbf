package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// The shape of the products of weights and the inputs of many rows, as the template
// product.msl has it.
const (
	Block      = 8  // rows and columns of a simdgroup matrix
	TileInputs = 64 // inputs that a tile holds
)

// TokensOf is how many rows a part multiplies its weights by at a time; 0 for parts of one row, or
// that have threadgroups for each.
func TokensOf(p plan.Part) int {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.Tokens
	case *plan.Experts:
		return p.Tokens
	}
	return 0
}

// Multiplies says whether a part multiplies by a matrix of weights.
func Multiplies(p plan.Part) bool {
	switch p.(type) {
	case *plan.MatVec, *plan.Experts, *plan.ExpertsSum:
		return true
	}
	return false
}

// Matrices says whether a part multiplies in simdgroup matrices: by a tile of inputs. Of fewer
// inputs than a matrix has columns, lanes multiply each as they do the only one.
func Matrices(p plan.Part) bool { return TokensOf(p) >= Block }

// NormApplyOf is the norm that a part finishes, or nil.
func NormApplyOf(p plan.Part) *plan.NormApply {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.NormApply
	case *plan.Experts:
		return p.NormApply
	}
	return nil
}

// UpOf is the slot of a part's second matrix, or -1.
func UpOf(p plan.Part) int {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.Up
	case *plan.Experts:
		return p.Up
	}
	return -1
}

// weightRowsOf is how many rows of weights a threadgroup of a part multiplies; 0 for parts
// that are never of several rows together.
func weightRowsOf(p plan.Part) int {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.RowsPerGroup
	case *plan.Experts:
		return p.RowsPerGroup
	}
	return 0
}

// checkPairs wants an even number of results of products that do more with them than store them: a
// lane has two neighbours, and loads and stores what goes with them together.
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
		if p.Add >= 0 {
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

// checkProduct wants simdgroups that share the tile's loads and results evenly, and of few inputs a
// lane for each result.
func checkProduct(k *plan.Kernel, p plan.Part) error {
	tokens, perGroup := TokensOf(p), weightRowsOf(p)
	if tokens < 0 || tokens > 0 && k.Width == 0 {
		return fmt.Errorf("%T of %d rows at a time in a kernel of %d", p, tokens, k.Width)
	}
	if tokens == 0 {
		return nil
	}
	if !Matrices(p) {
		return checkInputsOf(k, p, tokens)
	}
	slices, simdgroups := max(SplitKOf(p), 1), k.Threads/SimdWidth
	rows := perGroup * slices / simdgroups // of weights, for a simdgroup
	switch {
	case tokens%Block != 0 || tokens > TileInputs || slices > 2 && slices < simdgroups || slices > 2 && tokens > TileInputs/4:
		return fmt.Errorf("tiles of %d rows for %d threads, %d of %d simdgroups to a row; expected one or two, or up to %d rows for all", tokens, k.Threads, slices, simdgroups, TileInputs/4)
	case rows*simdgroups != perGroup*slices || rows != 2*Block && rows != 4*Block || Block*rows/SimdWidth%slices != 0 && slices%(Block*rows/SimdWidth) != 0:
		return fmt.Errorf("%d rows of weights for a threadgroup of %d simdgroups, %d to a row; expected 16 or 32 for each", perGroup, simdgroups, slices)
	}
	if r := NormApplyOf(p); r != nil && r.Count < 1 {
		return fmt.Errorf("a norm of no sums of squares")
	}
	return checkPairs(k, p)
}

// checkInputsOf wants a mat-vec that takes the few rows of its kernel at once.
func checkInputsOf(k *plan.Kernel, p plan.Part, tokens int) error {
	m, ok := p.(*plan.MatVec)
	perSimdgroup := ceil(weightRowsOf(p), k.Threads/SimdWidth/max(SplitKOf(p), 1))
	if !ok || tokens != k.Width || m.Combine != nil || perSimdgroup*tokens > SimdWidth {
		return fmt.Errorf("%T of %d rows at a time in a kernel of %d, %d results for each in a simdgroup; expected a mat-vec of all rows, and a lane for each result", p, tokens, k.Width, perSimdgroup)
	}
	return nil
}

// IsPrompt says whether tiles of so many inputs are those of a prompt: more than half of what a tile holds.
func IsPrompt(tokens int) bool { return 2*tokens > TileInputs }
