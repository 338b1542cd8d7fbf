package check

import "fmt"

// Measured describes the error of a result and the tolerance.
func (r *Result) Measured() string {
	return fmt.Sprintf("%s: %.1e of %.1e", r.Slot, r.Error, r.Tolerance)
}

// Worst returns the worst result of each variant, in their order.
func Worst(results []Result) []Result {
	var list []Result
	at := map[string]int{}
	for _, r := range results {
		i, ok := at[r.Case.Variant.Func]
		switch {
		case !ok:
			at[r.Case.Variant.Func] = len(list)
			list = append(list, r)
		case list[i].worse(&r):
			list[i] = r
		}
	}
	return list
}

// worse says whether o is a worse result than r.
func (r *Result) worse(o *Result) bool {
	if r.Err != nil || o.Err != nil {
		return r.Err == nil
	}
	return o.Error*r.Tolerance > r.Error*o.Tolerance
}

// Problem describes the failure in a line. It is "" if there is none, or if the device does not support the
// kernel.
func (r *Result) Problem() string {
	switch {
	case r.NotAble():
		return ""
	case r.Err != nil:
		return fmt.Sprintf("%s at position %d: %v", r.Case.Variant.Func, r.Case.Pos, r.Err)
	case !r.OK():
		return fmt.Sprintf("%s at position %d, %s: %s", r.Case.Variant.Func, r.Case.Pos, r.Slot, r.Detail)
	}
	return ""
}
