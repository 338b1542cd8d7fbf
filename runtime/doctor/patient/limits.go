package patient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/plan"
)

// PipelineLimits writes the limits that Metal's compiler sets for every kernel in use. A limit of threads
// below that of most kernels is the only sign of spilled registers (rule 25).
func (p *Patient) PipelineLimits(w *checkup.Writer, l *metal.Launcher, b *plan.Bundle, used []string) {
	list := l.PipelineLimits(b, func(v *plan.Variant) bool { return slices.Contains(used, v.Func) })
	most := uint64(0)
	for _, own := range list {
		most = max(most, own.MaxThreads)
	}
	var fewer []metal.PipelineLimits
	for _, own := range list {
		if low := own.Low(); low != nil && p.Virtual() {
			w.Write(checkup.Skip, own.Function, "not able: %v", low)
			continue
		} else if low != nil {
			w.Write(checkup.Fail, own.Function, "%v", low)
			continue
		}
		atOnce := ""
		if own.AtOnce > 0 {
			atOnce = fmt.Sprintf("; %d threadgroups at a time", own.AtOnce)
		}
		w.Write(checkup.Pass, own.Function, "%d threads of at most %d, in simdgroups of %d; %d B of threadgroup memory%s", own.Threads, own.MaxThreads, own.SimdWidth, own.ThreadgroupMemory, atOnce)
		if own.MaxThreads < most {
			fewer = append(fewer, own)
		}
	}
	w.Write(checkup.Fact, "threads per threadgroup", "%d for %d of %d kernels of %s", most, len(list)-len(fewer)-w.Failed(), len(list), b.Name)
	slices.SortStableFunc(fewer, func(a, b metal.PipelineLimits) int { return cmp.Compare(a.MaxThreads, b.MaxThreads) })
	var names []string
	for _, own := range fewer {
		names = append(names, fmt.Sprintf("%s %d (takes %d)", own.Function, own.MaxThreads, own.Threads))
	}
	if len(names) > 0 {
		w.Write(checkup.Fact, "fewer threads", "%s", strings.Join(names, ", "))
	}
}
