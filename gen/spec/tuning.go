package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// WithTuning is the spec with another tuning, which keeps to the rules that Parse
// has for one. Path and positions stay those of the file.
func (s *Spec) WithTuning(t Tuning) (*Spec, error) {
	with := *s
	with.Tuning = t
	with.Tuning.Kernels = slices.Clone(t.Kernels)
	errs := []error{t.MatVec.check("the shape of all kernels"), t.Attention.check(), t.AttendHeads.check()}
	for _, k := range t.Kernels {
		errs = append(errs, k.Shape.check("tuning.kernels."+k.Kernel))
	}
	for _, b := range budgets {
		if with.MoE == nil && slices.ContainsFunc(b.needs, func(path string) bool { return strings.HasPrefix(path, "moe.") }) {
			continue
		}
		if used := b.used(&with); used > b.limit {
			errs = append(errs, fmt.Errorf("%s %d %s; expected at most %d: %s", b.what, used, b.unit, b.limit, b.remedy))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	with.Tuning.inherit()
	if s.Main != nil {
		var err error
		with.Main, err = s.Main.WithTuning(t)
		return &with, err
	}
	return &with, nil
}

// Shape returns what the tuning says of one kernel alone, and whether it does.
func (t *Tuning) Shape(kernel string) (Shape, bool) {
	if k := t.named(kernel); k != nil {
		return k.Shape, true
	}
	return Shape{}, false
}

// named is the entry of a name; nil: there is none.
func (t *Tuning) named(name string) *KernelShape {
	if i := slices.IndexFunc(t.Kernels, func(k KernelShape) bool { return k.Kernel == name }); i >= 0 {
		return &t.Kernels[i]
	}
	return nil
}

// SetShape says how one kernel is shaped.
func (t *Tuning) SetShape(kernel string, s Shape) {
	t.Kernels = slices.Clone(t.Kernels) // tunings are copied
	if t.named(kernel) == nil {
		t.Kernels = append(t.Kernels, KernelShape{Kernel: kernel})
	}
	t.named(kernel).Shape = s
}

// check holds the values of a shape to their ranges; zeros are left open.
func (s Shape) check(path string) error {
	switch {
	case s.RowsPerSimdgroup < 0 || s.RowsPerSimdgroup > simdgroup || s.RowsPerSimdgroup%2 != 0:
		return fmt.Errorf("%s.rows_per_simdgroup is %d; expected an even number up to %d", path, s.RowsPerSimdgroup, simdgroup)
	case s.Simdgroups < 0 || s.Simdgroups > maxSimdgroups:
		return fmt.Errorf("%s.simdgroups is %d; expected 1 to %d", path, s.Simdgroups, maxSimdgroups)
	case s.SplitK < 0 || s.SplitK > maxSimdgroups || s.SplitK > 0 && s.Simdgroups%s.SplitK != 0:
		return fmt.Errorf("%s.split_k is %d; expected a divisor of simdgroups, %d", path, s.SplitK, s.Simdgroups)
	case s.Unroll < 0 || s.Unroll > maxUnroll:
		return fmt.Errorf("%s.unroll is %d; expected 1 to %d", path, s.Unroll, maxUnroll)
	}
	return nil
}

func (a Attention) check() error {
	for _, v := range []struct {
		key          string
		value, limit int
	}{{"splits", a.Splits, maxSplits}, {"tile", a.Tile, maxTile}, {"simdgroups", a.Simdgroups, maxSimdgroups}} {
		if v.value < 1 || v.value > v.limit {
			return fmt.Errorf("tuning.attention.%s is %d; expected 1 to %d", v.key, v.value, v.limit)
		}
	}
	return nil
}
