package check

import "fmt"

// Measured says how far a result is off, and what is allowed.
func (r *Result) Measured() string {
	return fmt.Sprintf("%s: %.1e of %.1e", r.Slot, r.Error, r.Tolerance)
}

// Worst keeps the worst result of each variant, in order.
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

// worse says whether o is worse than r.
func (r *Result) worse(o *Result) bool {
	if r.Err != nil || o.Err != nil {
		return r.Err == nil
	}
	return o.Error*r.Tolerance > r.Error*o.Tolerance
}

// Problem says in a line what is wrong, "" if nothing is, or if the device is not able.
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
