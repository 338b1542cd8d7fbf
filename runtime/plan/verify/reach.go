package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// reach is how far the parts of a kernel reach into each of its slots.
type reach struct {
	kernel   *plan.Kernel
	model    *plan.Model
	elements []int64  // by slot, of one row; 0: unknown or none
	weights  []matrix // by slot, of weights
	places   []bool   // by slot: rows are read at their places in the sequence
}

// matrix is the shape of a weight.
type matrix struct{ entries, rows, cols int }

// reachOf collects it from all parts, and holds these to the model.
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

// use adds one use. Kernel has checked slots and dimensions.
func (r *reach) use(u *plan.Use) error {
	if u.Offset < 0 || u.Stride < 0 || u.Offset > 1<<30 || u.Stride > 1<<30 { // so that nothing overflows
		return fmt.Errorf("offset %d, stride %d", u.Offset, u.Stride)
	}
	switch u.As {
	case plan.RoleWeight:
		return r.matrix(u.Slot, matrix{fromModel(u.Entries, r.model), fromModel(u.Rows, r.model), u.Cols})
	case plan.RoleTables: // what is looked up by position is not counted
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
		return nil // checkPartOfModel holds it to the model
	case plan.RoleMembers:
		r.numbers(u.Slot, int64(r.kernel.Width)*u.Reach())
		return nil
	}
	if u.Of > 0 && u.Of != r.model.MoE.NRoutedExperts {
		return fmt.Errorf("%d experts; the model has %d", u.Of, r.model.MoE.NRoutedExperts)
	}
	r.places[u.Slot] = r.places[u.Slot] || u.As == plan.RoleGathered
	if r.kernel.Slots[u.Slot].Space == plan.SpaceWeight { // a vector, which has exactly that many
		return r.matrix(u.Slot, matrix{1, 1, int(u.Reach())})
	}
	r.numbers(u.Slot, u.Reach())
	return nil
}

// fromModel is a number of a weight's entries or rows.
func fromModel(n int, m *plan.Model) int {
	switch n {
	case plan.EachExpert:
		return m.MoE.NRoutedExperts
	case plan.EachToken:
		return m.VocabSize
	}
	return n
}

// numbers says that a part reaches the first n elements of a slot.
func (r *reach) numbers(slot int, n int64) { r.elements[slot] = max(r.elements[slot], n) }

// matrix says which shape a weight has; entries that are more than one have their
// distance in the arguments.
func (r *reach) matrix(slot int, m matrix) error {
	if other := r.weights[slot]; other != (matrix{}) && other != m {
		return fmt.Errorf("of %d × %d × %d, and of %d × %d × %d", other.entries, other.rows, other.cols, m.entries, m.rows, m.cols)
	}
	r.weights[slot] = m
	return nil
}
