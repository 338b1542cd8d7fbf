package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// reach is how much of each slot the parts of a kernel need.
type reach struct {
	kernel   *plan.Kernel
	model    *plan.Model
	elements []int64  // by slot, for one row; 0: unknown or none
	weights  []matrix // by slot: shapes of weights
	places   []bool   // by slot: rows are read at their places in the sequence
}

// matrix is the shape of a weight.
type matrix struct{ entries, rows, cols int }

// reachOf adds up the needs of all parts, and checks the parts against the model.
func reachOf(k *plan.Kernel, m *plan.Model) (*reach, error) {
	r := &reach{kernel: k, model: m, elements: make([]int64, len(k.Slots)), weights: make([]matrix, len(k.Slots)), places: make([]bool, len(k.Slots))}
	for _, p := range k.Parts {
		if err := checkPartOfModel(k, m, p); err != nil {
			return nil, err
		}
		for _, u := range p.Uses() {
			if err := r.use(&u); err != nil {
				return nil, fmt.Errorf("slot %s: %w", k.Slots[u.Slot].Name, err)
			}
		}
	}
	return r, nil
}

// use adds one use. Kernel has checked slots and dimensions before.
func (r *reach) use(u *plan.Use) error {
	if u.Offset < 0 || u.Stride < 0 || u.Offset > 1<<30 || u.Stride > 1<<30 { // so that products do not overflow
		return fmt.Errorf("offset %d, stride %d", u.Offset, u.Stride)
	}
	switch u.As {
	case plan.RoleWeight:
		return r.matrix(u.Slot, matrix{fromModel(u.Entries, r.model), fromModel(u.Rows, r.model), u.Cols})
	case plan.RoleTables: // memory that is looked up by position is not counted
		if u.Len != r.model.MaxPages() {
			return fmt.Errorf("block tables of %d entries; the model has %d", u.Len, r.model.MaxPages())
		}
		return nil
	case plan.RoleCache:
		if u.Latent+u.Rotated != r.model.CacheDim() {
			return fmt.Errorf("cache rows of %d; the model has %d", u.Latent+u.Rotated, r.model.CacheDim())
		}
		return nil
	case plan.RoleTable:
		return r.matrix(u.Slot, matrix{1, u.Rows, u.Cols})
	case plan.RoleState:
		return nil // checkPartOfModel checks it
	case plan.RoleMembers:
		r.numbers(u.Slot, int64(r.kernel.Width)*u.Reach())
		return nil
	}
	if u.Of > 0 && u.Of != r.model.MoE.NRoutedExperts {
		return fmt.Errorf("%d experts; the model has %d", u.Of, r.model.MoE.NRoutedExperts)
	}
	r.places[u.Slot] = r.places[u.Slot] || u.As == plan.RoleGathered
	if r.kernel.Slots[u.Slot].Space == plan.SpaceWeight { // a vector, which must have exactly that many elements
		return r.matrix(u.Slot, matrix{1, 1, int(u.Reach())})
	}
	r.numbers(u.Slot, u.Reach())
	return nil
}

// fromModel resolves a Use's number of entries or rows that depends on the model.
func fromModel(n int, m *plan.Model) int {
	switch n {
	case plan.EachExpert:
		return m.MoE.NRoutedExperts
	case plan.EachToken:
		return m.VocabSize
	}
	return n
}

// numbers records that a part needs the first n elements of a slot.
func (r *reach) numbers(slot int, n int64) { r.elements[slot] = max(r.elements[slot], n) }

// matrix records the shape of a weight. The distance between several entries is in the kernel's arguments.
func (r *reach) matrix(slot int, m matrix) error {
	if other := r.weights[slot]; other != (matrix{}) && other != m {
		return fmt.Errorf("of %d × %d × %d, and of %d × %d × %d", other.entries, other.rows, other.cols, m.entries, m.rows, m.cols)
	}
	r.weights[slot] = m
	return nil
}
