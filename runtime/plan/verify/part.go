package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// checkPart checks one part's slots and dimensions.
func checkPart(k *plan.Kernel, p plan.Part) error {
	for _, r := range Uses(p) {
		if err := r.check(k); err != nil {
			return err
		}
	}
	if err := checkSizes(p); err != nil {
		return err
	}
	if err := checkRows(k, p); err != nil {
		return err
	}
	if err := checkBatch(k, p); err != nil {
		return err
	}
	if err := checkProduct(k, p); err != nil {
		return err
	}
	switch p := p.(type) {
	case *plan.PickToken:
		return checkPick(p.Vocab, p.Scanned, k.Threads)
	case *plan.PickTokens:
		return checkPick(p.Vocab, p.Scanned, k.Threads)
	}
	if err := checkNormPartial(k, p); err != nil {
		return err
	}
	if err := checkInputs(p); err != nil {
		return err
	}
	if g := GatingOf(p); g != nil {
		return checkGating(g)
	}
	return checkRope(p)
}

// inputAlign is what inputs of a mat-vec begin at multiples of, in elements: one load
// fetches eight halves.
const inputAlign = 8

// checkInputs wants inputs that begin where a mat-vec can load inputAlign halves at a time.
func checkInputs(p plan.Part) error {
	var inputs []plan.Vec
	switch p := p.(type) {
	case *plan.MatVec:
		if p.Norm == nil && p.Combine == nil { // these are staged
			inputs = []plan.Vec{p.In}
		}
	case *plan.Experts:
		if p.Norm == nil {
			inputs = []plan.Vec{p.In}
		}
	case *plan.ExpertsSum:
		inputs = []plan.Vec{p.In}
		if p.Shared >= 0 {
			inputs = append(inputs, p.SharedIn)
		}
	}
	for _, in := range inputs {
		if in.Offset%inputAlign != 0 || in.Stride%inputAlign != 0 {
			return fmt.Errorf("inputs at %d, %d apart; expected multiples of %d", in.Offset, in.Stride, inputAlign)
		}
	}
	return nil
}

// checkNormPartial wants partial sums that no simdgroup boundary cuts.
func checkNormPartial(k *plan.Kernel, p plan.Part) error {
	var h *plan.NormPartial
	var rows, perSimdgroup int
	switch p := p.(type) {
	case *plan.MatVec:
		h, rows, perSimdgroup = p.NormPartial, p.Rows, ceil(p.RowsPerGroup, k.Threads/SimdWidth/max(p.SplitK, 1))
	case *plan.ExpertsSum:
		h, rows, perSimdgroup = p.NormPartial, p.Rows, ceil(p.RowsPerGroup, k.Threads/SimdWidth/max(p.SplitK, 1))
	case *plan.Embed:
		h, rows, perSimdgroup = p.NormPartial, p.Dim, SimdWidth
		if h != nil && p.RowsPerGroup != k.Threads {
			return fmt.Errorf("%d elements for %d threads that make partial sums; expected as many", p.RowsPerGroup, k.Threads)
		}
	case *plan.WeightedSum:
		h, rows, perSimdgroup = p.NormPartial, p.Dim, SimdWidth
		if h != nil && p.RowsPerGroup != k.Threads {
			return fmt.Errorf("%d elements for %d threads that make partial sums; expected as many", p.RowsPerGroup, k.Threads)
		}
	}
	if h == nil {
		return nil
	}
	if g := h.Group; g < 1 || g > SimdWidth || g&(g-1) != 0 || rows%g != 0 || perSimdgroup%g != 0 {
		return fmt.Errorf("sums of %d squares each, of %d rows, %d per simdgroup; expected a power of two that divides both", h.Group, rows, perSimdgroup)
	}
	return nil
}

// checkSizes wants dimensions of which products of two fit an int64.
func checkSizes(p plan.Part) error {
	for _, n := range sizes(p) {
		if n < 1 || n > 1<<30 {
			return fmt.Errorf("%T: a dimension of %d", p, n)
		}
	}
	return nil
}

// sizes lists the dimensions of a part that must be positive.
func sizes(p plan.Part) []int {
	switch p := p.(type) {
	case *plan.MatVec:
		list := []int{p.Batch, p.Rows, p.Cols, p.RowsPerGroup}
		if c := p.Combine; c != nil {
			list = append(list, c.Heads, c.Splits.Count, c.Splits.Tile)
		}
		return list
	case *plan.Experts:
		return []int{p.K, p.Rows, p.Cols, p.RowsPerGroup}
	case *plan.ExpertsSum:
		list := []int{p.K, p.Rows, p.Cols, p.RowsPerGroup}
		if p.Shared >= 0 {
			list = append(list, p.SharedCols)
		}
		return list
	case *plan.StoreKV:
		return []int{p.LatDim, p.PeDim}
	case *plan.Attend:
		list := []int{p.Heads, p.LatDim, p.PeDim, p.Splits.Count, p.Splits.Tile}
		if p.Temperature.Scale != 0 {
			list = append(list, p.Temperature.Length)
		}
		return list
	case *plan.AttendRows:
		list := []int{p.Heads, p.LatDim, p.PeDim, p.Queries, p.Tile}
		if p.Temperature.Scale != 0 {
			list = append(list, p.Temperature.Length)
		}
		return list
	case *plan.ExpandHeads:
		return []int{p.Heads, p.Dim, p.LatDim, p.PeDim, p.Shares}
	case *plan.AttendHeads:
		list := []int{p.Heads, p.NopeDim, p.PeDim, p.VDim, p.RowsPerGroup, p.SplitK, p.Tile}
		if p.Temperature.Scale != 0 {
			list = append(list, p.Temperature.Length)
		}
		return list
	case *plan.Embed:
		return []int{p.Dim, p.RowsPerGroup}
	case *plan.NormVec:
		return []int{p.Dim}
	case *plan.RopeVec:
		return []int{p.Heads}
	case *plan.CombineVec:
		return []int{p.Dim, p.Combine.Heads, p.Combine.Splits.Count, p.Combine.Splits.Tile}
	case *plan.SwiGLUVec:
		return []int{p.Dim, p.RowsPerGroup}
	case *plan.AddVec:
		return []int{p.Dim, p.RowsPerGroup}
	case *plan.WeightedSum:
		return []int{p.K, p.Dim, p.RowsPerGroup}
	case *plan.RouteBatch:
		return []int{p.Grouping.Experts, p.Grouping.K}
	case *plan.GroupExperts:
		return []int{p.Grouping.Experts, p.Grouping.K}
	case *plan.ScanLogits:
		return []int{p.Vocab, p.PerGroup}
	case *plan.PickToken:
		return []int{p.Vocab, p.Scanned}
	case *plan.GatherVec:
		return []int{p.Dim, p.PerGroup}
	case *plan.ScanPicks:
		return []int{p.Vocab, p.Block, p.Blocks}
	case *plan.PickTokens:
		return []int{p.Vocab, p.Scanned}
	}
	return nil
}

// checkRows wants a lane for each row of a simdgroup.
func checkRows(k *plan.Kernel, p plan.Part) error {
	perGroup := 0
	switch p := p.(type) {
	case *plan.MatVec:
		perGroup = p.RowsPerGroup
	case *plan.Experts:
		perGroup = p.RowsPerGroup
	case *plan.ExpertsSum:
		perGroup = p.RowsPerGroup
	}
	if n := SplitKOf(p); n < 0 || n > 1 && k.Threads/SimdWidth%n != 0 {
		return fmt.Errorf("%d simdgroups share a row of %d in a threadgroup; expected a divisor", n, k.Threads/SimdWidth)
	}
	if perGroup > k.Threads/max(SplitKOf(p), 1) {
		return fmt.Errorf("%d rows per threadgroup of %d threads; expected at most a row per thread", perGroup, k.Threads)
	}
	return nil
}

func checkGating(g *plan.Gating) error {
	switch {
	case g.Experts < 1 || g.K < 1 || g.K > min(g.Experts, SimdWidth):
		return fmt.Errorf("%d of %d experts; expected at most %d", g.K, g.Experts, SimdWidth)
	case g.Groups > 1 && (g.Experts%g.Groups != 0 || g.KGroups < 1 || g.KGroups > g.Groups):
		return fmt.Errorf("%d of %d groups of %d experts", g.KGroups, g.Groups, g.Experts)
	case g.Groups > 1 && g.K > g.Experts/g.Groups*g.KGroups:
		return fmt.Errorf("%d experts of %d groups of %d", g.K, g.KGroups, g.Experts/g.Groups)
	}
	return nil
}

// checkRope wants pairs that no simdgroup boundary and no head boundary cuts.
func checkRope(p plan.Part) error {
	var r plan.RopeAt
	switch p := p.(type) {
	case *plan.MatVec:
		if p.Rope == nil {
			return nil
		}
		r = *p.Rope
		if p.Rows%2 != 0 || p.RowsPerGroup%2 != 0 {
			return fmt.Errorf("rope over %d rows in groups of %d; expected even numbers", p.Rows, p.RowsPerGroup)
		}
	case *plan.RopeVec:
		r = p.Rope
	case *plan.StoreKV:
		if p.Rope == nil {
			return nil
		}
		r = plan.RopeAt{HeadDim: p.PeDim, Dim: p.Rope.Dim}
		if r.Dim != r.HeadDim {
			return fmt.Errorf("rope over %d of %d key columns; expected all", r.Dim, r.HeadDim)
		}
	default:
		return nil
	}
	if r.Dim < 2 || r.Dim > r.HeadDim || r.Dim%2 != 0 || r.HeadDim%2 != 0 {
		return fmt.Errorf("rope over %d of %d columns; expected even numbers", r.Dim, r.HeadDim)
	}
	return nil
}
