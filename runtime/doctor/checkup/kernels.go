package checkup

import (
	"strings"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
)

// Kernels compares launches with their references until it is late, and says how many it has compared.
// Of a kernel that is right everywhere the worst position is told, of one that is not every
// position that is wrong.
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
