package check

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints a table of results, a variant a line: of its positions the worst.
func Write(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "variant\tslot\terror\tallowed\t")
	for _, r := range worst(results) {
		switch {
		case r.NotAble():
			fmt.Fprintf(t, "%s\t\t\t\tnot able\n", r.Case.Variant.Func)
		case r.Err != nil:
			fmt.Fprintf(t, "%s\t\t\t\tFAILED\n", r.Case.Variant.Func)
		case !r.OK():
			fmt.Fprintf(t, "%s\t%s\t%.1e\t%.1e\tFAILED\n", r.Case.Variant.Func, r.Slot, r.Error, r.Tolerance)
		default:
			fmt.Fprintf(t, "%s\t%s\t%.1e\t%.1e\tok\n", r.Case.Variant.Func, r.Slot, r.Error, r.Tolerance)
		}
	}
	return t.Flush()
}

// worst keeps the worst result of each variant, in order.
func worst(results []Result) []Result {
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
