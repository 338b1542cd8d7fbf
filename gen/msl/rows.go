package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// Kernels of several rows. Mat-vecs and experts multiply their weights by a tile of rows (product.go), or
// mat-vecs by the inputs of a few rows (inputs.go). All other parts have threadgroups for every row; these
// run the text of one row on pointers to that row's vectors.

// Batched reports whether the kernel computes several rows.
func (k *kernelView) Batched() bool { return k.Width > 0 }

// BatchesRows reports whether a threadgroup of the part computes several rows.
func (v *partView) BatchesRows() bool { return v.Batched() && plan.BatchesRows(v.P) }

// namesRows reports whether the part's template itself finds the vectors of all rows, such as attention to
// expanded heads.
func (v *partView) namesRows() bool {
	_, gathers := v.P.(*plan.GatherVec)
	return gathers || plan.StateOf(v.P) != nil || attendsHeads(v.P) || expandsHeads(v.P) || v.routesBatch()
}

// splitsFirst reports whether threadgroups are ordered by split, then by row. Then the last splits, which
// short contexts do not fill, come last, end at once and delay nothing.
func (v *partView) splitsFirst() bool {
	_, ok := v.P.(*plan.Attend)
	return ok && v.Batched() && v.P.Groups() > 1
}

// Rows returns the parameter with all rows.
func (v *partView) Rows() (string, error) {
	if i := v.rowSlot(); i >= 0 {
		return argumentNames(v.Kernel)[i], nil
	}
	return "", fmt.Errorf("a kernel of %d rows, but no slot has them", v.Width)
}

// rowSlot returns the slot of the rows, or -1.
func (k *kernelView) rowSlot() int {
	return slices.IndexFunc(k.Slots, func(s plan.Slot) bool { return s.Elem == plan.ElemRow })
}

// RowStride returns the distance between the vectors of two rows in a slot, in elements.
func (v *partView) RowStride(slot int) int { return v.Slots[slot].Stride }

// Element returns element i of a slot, for the lane's row.
func (v *partView) Element(slot int, i string) string { return v.At(plan.Vec{Slot: slot}, "", i) }

// rowPrefix begins the names of pointers to one row's vectors.
const rowPrefix = "row_"

// ofRow renames parameters so that the text of the part is about one row: the row of its threadgroup, whose
// pointers have names of their own, or the lane's row.
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

// perRow reports whether the part uses a slot with elements for each row.
func (v *partView) perRow(slot int) bool {
	s := &v.Slots[slot]
	return s.Elem == plan.ElemRow || s.Stride > 0 && slices.ContainsFunc(v.P.Uses(), func(u plan.Use) bool { return u.Slot == slot })
}

// Locals declares the pointers to the threadgroup's row.
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

// usesRow reports whether the part's text reads the row itself: its token, its position or its block table.
func (v *partView) usesRow() bool {
	return slices.ContainsFunc(v.P.Uses(), func(u plan.Use) bool {
		return u.LooksUp() || u.As == plan.RoleAngles || u.As == plan.RoleCache || u.Splits != nil
	})
}

// alive adds the condition that the threadgroup's row is used. The else branch waits, too, because the next
// dispatch relies on it.
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

// ElemName returns the type of a slot's elements.
func (v *partView) ElemName(slot int) string {
	return inNamespace.typeName(v.printer.elemType(v.Slots[slot].Elem))
}
