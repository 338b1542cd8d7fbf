package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// Kernels of several rows. Mat-vecs take several inputs together, see take_block in
// templates/msl/quant/dot.msl: a lane finishes one result of one row, batch_row. All other
// parts have threadgroups for every row, which run the text of a kernel of one row on
// pointers to that row's vectors.

// Batched says whether the kernel computes several rows.
func (k *kernelView) Batched() bool { return k.Width > 0 }

// Together says whether a threadgroup of the part computes several rows.
func (v *partView) Together() bool { return v.Batched() && plan.Together(v.P) }

// Constant says whether the rows that a threadgroup takes together follow each other.
func (v *partView) Constant() bool {
	_, ok := v.P.(*plan.MatVec)
	return ok && v.Together()
}

// expertTile is how many rows of an expert are multiplied at a time: few rows select the
// same expert.
const expertTile = 2

// Inputs is how many inputs a mat-vec multiplies by each weight that it has loaded.
func (v *partView) Inputs() int {
	switch v.P.(type) {
	case *plan.MatVec:
		return v.Tile()
	case *plan.Experts:
		return min(v.Tile(), expertTile)
	}
	return 1
}

// Results is how many sums a simdgroup makes: a lane finishes one of them.
func (v *partView) Results() int {
	if v.Together() {
		return v.N * v.Inputs()
	}
	return v.N
}

// Result is which of its rows of weights a lane's result is of.
func (v *partView) Result() string {
	if v.Together() {
		return fmt.Sprintf("lane %% %du", v.N)
	}
	return "lane"
}

// WhichLane says it in words.
func (v *partView) WhichLane() string {
	if v.Together() {
		return fmt.Sprintf("lane i * %d + r finishes row r for input i", v.N)
	}
	return "lane r finishes row r"
}

// Tiles is how many threadgroups share a threadgroup's weights, for a tile of rows each.
func (v *partView) Tiles() int {
	if v.Constant() {
		return ceil(v.Width, v.Inputs())
	}
	return 1
}

// Live is how many rows of a tile are multiplied: those that live, rounded up to one of
// the numbers that dot_live knows.
func (v *partView) Live() (string, error) {
	rows, err := v.Rows()
	first := ""
	if v.Tiles() > 1 {
		first = "first_row + "
	}
	live := fmt.Sprint(min(v.Inputs(), 2), "u")
	for _, n := range []int{2, 4} {
		if n < v.Inputs() {
			live = fmt.Sprintf("%s[%s%du].nkv > 0u ? %du : %s", rows, first, n, min(2*n, v.Inputs()), live)
		}
	}
	return live, err
}

// Rows is the parameter that holds all rows.
func (v *partView) Rows() (string, error) {
	if i := v.rowSlot(); i >= 0 {
		return argumentNames(v.Kernel)[i], nil
	}
	return "", fmt.Errorf("a kernel of %d rows, but no slot has them", v.Width)
}

// rowSlot is the slot of the rows, or -1.
func (k *kernelView) rowSlot() int {
	return slices.IndexFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceRow })
}

// RowStride is the distance between the vectors of two rows in a slot.
func (v *partView) RowStride(slot int) int { return v.Slots[slot].Stride }

// Element is element i of a slot, of the lane's row.
func (v *partView) Element(slot int, i string) string { return v.At(plan.Vec{Slot: slot}, "", i) }

// InputRow is the row of input i.
func (v *partView) InputRow(i string) string {
	switch p := v.P.(type) {
	case *plan.Experts:
		return fmt.Sprintf("(selections[%s] / %du)", i, p.K)
	default:
		if v.Tiles() > 1 {
			return fmt.Sprintf("(first_row + %s)", i)
		}
	}
	return i
}

// SelectionAt is the index of a selection in a slot of one vector per row.
func (v *partView) SelectionAt(slot int, selection string) string {
	k := v.P.(*plan.Experts).K
	return fmt.Sprintf("%s / %du * %du + %s %% %du", selection, k, v.RowStride(slot), selection, k)
}

// Selections is how many experts all rows select.
func (v *partView) Selections() int { return v.Width * gatingOf(v.P).K }

// AllSquares is the sum of squares of the lane's row.
func (v *partView) AllSquares() string {
	switch {
	case v.Together() && v.Slices() > 1:
		return fmt.Sprintf("total<%du>(slices + %du + min(lane / %du, %du) * %du)", v.Simdgroups(), v.SquaresAt(), v.N, v.Inputs()-1, v.Simdgroups())
	case v.Together():
		return fmt.Sprintf("own<%d>(squares, min(lane / %du, %du))", v.Inputs(), v.N, v.Inputs()-1)
	case v.Slices() > 1:
		return fmt.Sprintf("total<%du>(slices + %du)", v.Simdgroups(), v.SquaresAt())
	}
	return "squares"
}

// inputs wraps the first input of a tile into all of them.
func (v *partView) inputs(first plan.Vec, entry string) string {
	switch {
	case !v.Together():
		return v.Input(first, entry)
	case !v.Constant():
		return "inputs"
	}
	stride := v.RowStride(first.Slot)
	kind, at := v.InputKind(first), v.kernelView.Ptr(first, entry)
	if v.Tiles() > 1 {
		at += fmt.Sprintf(" + first_row * %du", stride)
	}
	return fmt.Sprintf("in_rows<%s, %d, %du>{%s{%s}}", kind, v.Inputs(), stride, kind, at)
}

// rowPrefix is in front of the names of what belongs to one row.
const rowPrefix = "row_"

// ofRow lets the part's text speak of one row: of that in whose threadgroup it is, whose
// pointers have names of their own, or of the lane's.
func (v *partView) ofRow() {
	k := *v.kernelView
	k.names = slices.Clone(k.names)
	_, route := v.P.(*plan.RouteVec)
	for i := range k.Slots {
		switch {
		case v.Together() && !route && i == k.rowSlot():
			k.names[i] += "[batch_row]"
		case (!v.Together() || route) && v.perRow(i):
			k.names[i] = rowPrefix + strings.TrimSuffix(k.names[i], "_")
		}
	}
	v.kernelView = &k
}

// perRow says whether the part uses a slot that each row has its own elements of.
func (v *partView) perRow(slot int) bool {
	s := &v.Slots[slot]
	return s.Space == plan.SpaceRow || s.Stride > 0 && slices.ContainsFunc(refs(v.P), func(r ref) bool { return r.slot == slot })
}

// Locals declares the pointers to a row.
func (v *partView) Locals() string {
	all := argumentNames(v.Kernel)
	var b strings.Builder
	for i := range v.Slots {
		if !v.perRow(i) {
			continue
		}
		s := &v.Slots[i]
		elem := inNamespace.typeName(v.printer.elemType(s.Elem))
		switch {
		case s.Space == plan.SpaceRow:
			if v.usesRow() {
				fmt.Fprintf(&b, "    constant %s & %s = %s[row_index];\n", elem, v.names[i], all[i])
			}
			continue
		case s.Write:
			fmt.Fprintf(&b, "    device %s * %s", elem, v.names[i])
		default:
			fmt.Fprintf(&b, "    device const %s * %s", elem, v.names[i])
		}
		fmt.Fprintf(&b, " = %s + row_index * %du;\n", all[i], s.Stride)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// usesRow says whether the part's text reads the row itself.
func (v *partView) usesRow() bool {
	switch p := v.P.(type) {
	case *plan.StoreKV, *plan.Attend, *plan.Embed, *plan.RopeVec, *plan.CombineVec:
		return true
	case *plan.MatVec:
		return p.Rope != nil
	}
	return false
}

// alive puts a part's text under the condition that the threadgroup has a row: a dead row
// keeps the place of none.
func (v *partView) alive(text string) (string, error) {
	if !v.Batched() || v.Together() && v.Tiles() == 1 {
		return text, nil
	}
	rows, err := v.Rows()
	if err != nil {
		return "", err
	}
	name, index, locals := "row_index", v.Number(), ""
	if v.Together() {
		name, index = "first_row", fmt.Sprintf("%s %% %du * %du", index, v.Tiles(), v.Inputs())
	} else {
		if n := v.P.Groups(); n > 1 {
			index += fmt.Sprintf(" / %du", n)
		}
		if locals = v.Locals(); locals != "" {
			locals += "\n"
		}
	}
	return fmt.Sprintf("    const uint %s = %s;\n    if (%s[%s].nkv > 0u) {\n%s%s    } else { // dead rows\n      EARLIER_DONE;\n    }\n",
		name, index, rows, name, locals, text), nil
}
