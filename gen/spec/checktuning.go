package spec

import (
	"slices"
	"strings"
)

// checkTuning holds the tuning of a class of devices ("": of any device) to its rules.
// What it has as any device does was checked with that.
func (d *decoder) checkTuning(s *Spec, class string) {
	with, general := s.WithClass(class), s.tunings.of("")
	same := func(key string, shape, other Shape) {
		if class == "" || shape != other {
			d.checkShape(class, key, shape)
		}
	}
	for _, k := range with.Tuning.Kernels {
		other, _ := general.Shape(k.Kernel)
		same("kernels."+k.Kernel, k.Shape, other)
	}
	if err := headsError(with.Tuning.AttendHeads); err != nil {
		d.errorf(d.first(tuningPaths(class, "tuning.attend_heads.split_k", "tuning.attend_heads.rows_per_simdgroup", "tuning.attend_heads.simdgroups", "tuning.attend_heads.tile")), "%v", err)
	}
	if class == "" || !slices.Equal(with.Widths(), s.WithClass("").Widths()) || with.Tuning.Attention != general.Attention {
		d.checkBudgets(with)
	}
}

// checkBudgets wants the memory that kernels take to be there.
func (d *decoder) checkBudgets(s *Spec) {
	for _, b := range budgets {
		if !d.has(b.needs...) {
			continue
		}
		if used := b.used(s); used > b.limit {
			d.errorf(d.first(tuningPaths(s.Class, b.blame...)), "%s %d %s; expected at most %d: %s", b.what, used, b.unit, b.limit, b.remedy)
		}
	}
}

// checkShape wants simdgroups that can share rows evenly. key is below tuning.
func (d *decoder) checkShape(class, key string, s Shape) {
	if s.Simdgroups == 0 || s.SplitK == 0 || s.Simdgroups%s.SplitK == 0 {
		return
	}
	n := d.first(tuningPaths(class, "tuning."+key+".split_k", "tuning."+key+".simdgroups"))
	d.errorf(n, "%s.%s.split_k is %d; expected a divisor of simdgroups, %d", strings.Join(classPath(class), "."), key, s.SplitK, s.Simdgroups)
}

// tuningPaths is paths, before them those of a class where they are below tuning.
func tuningPaths(class string, paths ...string) []string {
	var own []string
	for _, p := range paths {
		if key, ok := strings.CutPrefix(p, "tuning."); ok && class != "" {
			own = append(own, strings.Join(append(classPath(class), key), "."))
		}
	}
	return append(own, paths...)
}

// inherit gives kernel overrides what they leave out: those of one width what the kernel has at any.
func (t *Tuning) inherit() {
	for i := range t.Kernels {
		k := &t.Kernels[i]
		if kernel, _, ok := AnyWidth(k.Kernel); ok {
			general, _ := t.Shape(kernel)
			k.Shape = k.Shape.Over(general)
		}
		k.Shape = k.Shape.Over(t.MatVec)
	}
}
