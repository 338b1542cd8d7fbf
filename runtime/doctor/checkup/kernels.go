package checkup

import (
	"strings"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
)

// Kernels compares launches with their references until late returns true, and returns how many it has
// compared. Of a kernel without failures only the worst position is written; of a kernel with failures, every
// position that failed.
func Kernels(w *Writer, l device.Launcher, cases []check.Case, late func() bool) int {
	var results []check.Result
	for i := range cases {
		if late() {
			break
		}
		w.Write(Now, cases[i].Variant.Func, "")
		r := cases[i].Check(l)
		if problem := r.Problem(); problem != "" {
			w.Write(Fail, r.Case.Variant.Func, "%s", strings.TrimPrefix(problem, r.Case.Variant.Func+" "))
		}
		results = append(results, r)
	}
	for _, r := range check.Worst(results) {
		switch {
		case r.NotAble():
			w.Write(Skip, r.Case.Variant.Func, "not able: %v", r.Err)
		case r.OK():
			w.Write(Pass, r.Case.Variant.Func, "%s", r.Measured())
		}
	}
	return len(results)
}
