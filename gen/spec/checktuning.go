package spec

import (
	"slices"
	"strings"
)

// checkTuning checks the tuning for one class of devices (class "" means any device). Values that a class
// inherits unchanged from the tuning for any device are not reported twice.
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

// checkBudgets reports kernels that would take more threadgroup memory or registers than devices have.
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

// checkShape reports a split_k that does not divide simdgroups. key is the path of the shape below "tuning".
func (d *decoder) checkShape(class, key string, s Shape) {
	if s.Simdgroups == 0 || s.SplitK == 0 || s.Simdgroups%s.SplitK == 0 {
		return
	}
	n := d.first(tuningPaths(class, "tuning."+key+".split_k", "tuning."+key+".simdgroups"))
	d.errorf(n, "%s.%s.split_k is %d; expected a divisor of simdgroups, %d", strings.Join(classPath(class), "."), key, s.SplitK, s.Simdgroups)
}

// tuningPaths returns paths, preceded by the same paths in the tuning of the class if there are any.
func tuningPaths(class string, paths ...string) []string {
	var own []string
	for _, p := range paths {
		if key, ok := strings.CutPrefix(p, "tuning."); ok && class != "" {
			own = append(own, strings.Join(append(classPath(class), key), "."))
		}
	}
	return append(own, paths...)
}

// inherit fills in what the entries of Kernels leave out. An entry for one width takes it from the entry for
// the same kernel at any width; then every entry takes it from MatVec.
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
