package bind

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Joined is one of the weights of Bundle.Joined, as rows of the file.
type Joined struct {
	Format   *quant.Format
	Rows     []byte
	RowBytes int
}

// Joined returns the weights of Bundle.Joined in the file, which must stay open while they are in use. It
// returns a *FitError for a file that does not fit.
func (r *Resolved) Joined(b *plan.Bundle) ([]Joined, error) {
	var list []Joined
	for i := range b.Joined {
		src, bad := r.find(b, &b.Joined[i], 0)
		if bad == nil && src.copied() {
			bad = &Mismatch{What: fmt.Sprintf("tensor %q", src.tensor.Name), Found: "a weight with scales beside it", Expected: "one without"}
		}
		if bad != nil {
			return nil, &FitError{File: r.File.Path, Bundle: b.Name, Asked: true, Mismatches: []Mismatch{*bad}}
		}
		list = append(list, Joined{mustLookup(src.typ), src.tensor.Data[:src.bytes], int(src.stride) / src.rows})
	}
	return list, nil
}
