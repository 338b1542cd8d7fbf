package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// Kernels of several rows. Mat-vecs and experts multiply their weights by a tile of rows, see
// product.go, or mat-vecs by the inputs of few, see inputs.go. All other parts have threadgroups for
// every row, which run the text of a kernel of one row on pointers to that row's vectors.

// Batched says whether the kernel computes several rows.
func (k *kernelView) Batched() bool { return k.Width > 0 }

// BatchesRows says whether a threadgroup of the part computes several rows.
func (v *partView) BatchesRows() bool { return v.Batched() && plan.BatchesRows(v.P) }

// namesRows says whether the part finds what it needs of all rows by itself, as attention to expanded
// heads does.
func (v *partView) namesRows() bool {
	_, gathers := v.P.(*plan.GatherVec)
	return gathers || plan.StateOf(v.P) != nil || attendsHeads(v.P) || expandsHeads(v.P) || v.routesBatch()
}

// splitsFirst says whether the first threadgroups are those of all rows' first splits: the last splits, of
// which short contexts have none, end at once and hold up nobody.
func (v *partView) splitsFirst() bool {
	_, ok := v.P.(*plan.Attend)
	return ok && v.Batched() && v.P.Groups() > 1
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
	return slices.IndexFunc(k.Slots, func(s plan.Slot) bool { return s.Elem == plan.ElemRow })
}

// RowStride is the distance between the vectors of two rows in a slot.
func (v *partView) RowStride(slot int) int { return v.Slots[slot].Stride }

// Element is element i of a slot, of the lane's row.
func (v *partView) Element(slot int, i string) string { return v.At(plan.Vec{Slot: slot}, "", i) }

// rowPrefix is in front of the names of what belongs to one row.
const rowPrefix = "row_"

// ofRow lets the part's text speak of one row: of that in whose threadgroup it is, whose
// pointers have names of their own, or of the lane's.
func (v *partView) ofRow() {
	if v.namesRows() {
		return
	}
	k := *v.kernelView
	k.names = slices.Clone(k.names)
	for i := range k.Slots {
		switch {
		case v.BatchesRows() && i == k.rowSlot():
			k.names[i] += "[batch_row]"
		case !v.BatchesRows() && v.perRow(i):
			k.names[i] = rowPrefix + strings.TrimSuffix(k.names[i], "_")
		}
	}
	v.kernelView = &k
}

// perRow says whether the part uses a slot that each row has its own elements of.
func (v *partView) perRow(slot int) bool {
	s := &v.Slots[slot]
	return s.Elem == plan.ElemRow || s.Stride > 0 && slices.ContainsFunc(v.P.Uses(), func(u plan.Use) bool { return u.Slot == slot })
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
		case s.Elem == plan.ElemRow:
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

// usesRow says whether the part's text reads the row itself: for its token, its position or its cache.
func (v *partView) usesRow() bool {
	return slices.ContainsFunc(v.P.Uses(), func(u plan.Use) bool {
		return u.LooksUp() || u.As == plan.RoleAngles || u.As == plan.RoleCache || u.Splits != nil
	})
}

// alive puts a part's text under the condition that the threadgroup has a row: a dead row
// keeps the place of none.
func (v *partView) alive(text string) (string, error) {
	if !v.Batched() || v.BatchesRows() && v.Tiles() == 1 {
		return text, nil
	}
	rows, err := v.Rows()
	if err != nil {
		return "", err
	}
	name, index, locals := "row_index", v.Number(), ""
	if v.BatchesRows() {
		name, index = "first_row", fmt.Sprintf("%s %% %du * %du", index, v.Tiles(), v.Product.Tokens)
	} else {
		if v.splitsFirst() {
			index += fmt.Sprintf(" %% %du", v.Width)
		} else if n := v.P.Groups(); n > 1 {
			index += fmt.Sprintf(" / %du", n)
		}
		if locals = v.Locals(); locals != "" {
			locals += "\n"
		}
	}
	return fmt.Sprintf("    const uint %s = %s;\n    if (%s[%s].nkv > 0u) {\n%s%s    } else { // dead rows\n      GRID_WAIT;\n    }\n",
		name, index, rows, name, locals, text), nil
}

// ElemName is the type of a slot's elements.
func (v *partView) ElemName(slot int) string {
	return inNamespace.typeName(v.printer.elemType(v.Slots[slot].Elem))
}
