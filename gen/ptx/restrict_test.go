package ptx

import (
	"testing"

	"mla/generated"
	"mla/runtime/plan"
)

// overlap says whether two operands of one dispatch have bytes in common. Only the
// arena and the sampler's memory have ranges; elsewhere an operand is a whole.
func overlap(d *plan.Dispatch, i, j int) bool {
	a, b := d.Operands[i], d.Operands[j]
	switch {
	case a.Space != b.Space:
		return false
	case a.Bytes == 0 || b.Bytes == 0:
		return a.Index == b.Index && d.LayerOf(i) == d.LayerOf(j)
	}
	return a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes
}

// TestRestrict: what a kernel writes through one slot it reaches through no other,
// which is what __restrict__ promises for its parameters.
func TestRestrict(t *testing.T) {
	for _, b := range generated.Bundles() {
		for n, d := range append(append([]plan.Dispatch(nil), b.Decode...), b.Sample...) {
			k := &b.Kernels[d.Kernel]
			for i := range k.Slots {
				for j := range k.Slots {
					if i != j && k.Slots[i].Write && overlap(&d, i, j) {
						t.Errorf("%s: dispatch %d, kernel %s: it writes %s, which overlaps %s", b.Name, n, k.Name, k.Slots[i].Name, k.Slots[j].Name)
					}
				}
			}
		}
	}
}
