package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mla/gen/target"
	"mla/runtime/plan"
)

// WithTuning is the spec with another tuning, which keeps to the rules that Parse
// has for one. Path and positions stay those of the file.
func (s *Spec) WithTuning(t Tuning) (*Spec, error) {
	with := *s
	with.Tuning = t
	with.Tuning.Kernels = slices.Clone(t.Kernels)
	errs := []error{shapeError("the shape of all kernels", t.MatVec), attentionError(t.Attention), headsError(t.AttendHeads)}
	for _, k := range t.Kernels {
		errs = append(errs, shapeError("tuning.kernels."+k.Kernel, k.Shape))
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

// At says where an entry stands in the files.
func (k *KernelShape) At() string { return fmt.Sprintf("line %d of %s", k.Line, filepath.Base(k.File)) }

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

// shapeError holds the values of a shape to their ranges; zeros are left open.
func shapeError(path string, s Shape) error {
	switch {
	case s.RowsPerSimdgroup < 0 || s.RowsPerSimdgroup > target.SimdWidth || s.RowsPerSimdgroup%2 != 0:
		return fmt.Errorf("%s.rows_per_simdgroup is %d; expected an even number up to %d", path, s.RowsPerSimdgroup, target.SimdWidth)
	case s.Simdgroups < 0 || s.Simdgroups > target.MaxSimdgroups:
		return fmt.Errorf("%s.simdgroups is %d; expected 1 to %d", path, s.Simdgroups, target.MaxSimdgroups)
	case s.SplitK < 0 || s.SplitK > target.MaxSimdgroups || s.SplitK > 0 && s.Simdgroups%s.SplitK != 0:
		return fmt.Errorf("%s.split_k is %d; expected a divisor of simdgroups, %d", path, s.SplitK, s.Simdgroups)
	case s.Unroll < 0 || s.Unroll > maxUnroll:
		return fmt.Errorf("%s.unroll is %d; expected 1 to %d", path, s.Unroll, maxUnroll)
	}
	return nil
}

// attentionError holds the values of a cut to their ranges.
func attentionError(a Attention) error {
	for _, v := range []struct {
		key          string
		value, limit int
	}{{"splits", a.Splits, maxSplits}, {"tile", a.Tile, maxTile}, {"simdgroups", a.Simdgroups, target.MaxSimdgroups}} {
		if v.value < 1 || v.value > v.limit {
			return fmt.Errorf("tuning.attention.%s is %d; expected 1 to %d", v.key, v.value, v.limit)
		}
	}
	return nil
}

// maxHeadsTile bounds the cache rows of attention over expanded heads; see runtime/plan/verify.
const maxHeadsTile = 64

// headsError holds the values of attention over expanded heads to their ranges.
func headsError(a AttendHeads) error {
	const block = target.HeadBlock
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	switch {
	case a.RowsPerSimdgroup < block || a.RowsPerSimdgroup > target.SimdWidth || a.RowsPerSimdgroup%block != 0:
		return fmt.Errorf("tuning.attend_heads.rows_per_simdgroup is %d; expected a multiple of %d up to %d", a.RowsPerSimdgroup, block, target.SimdWidth)
	case a.Simdgroups < 1 || a.Simdgroups > target.MaxSimdgroups:
		return fmt.Errorf("tuning.attend_heads.simdgroups is %d; expected 1 to %d", a.Simdgroups, target.MaxSimdgroups)
	case !power(a.SplitK) || a.Simdgroups%a.SplitK != 0:
		return fmt.Errorf("tuning.attend_heads.split_k is %d; expected a power of two that divides simdgroups, %d", a.SplitK, a.Simdgroups)
	case !power(a.Tile) || a.Tile < 2*block || a.Tile > maxHeadsTile:
		return fmt.Errorf("tuning.attend_heads.tile is %d; expected a power of two from %d to %d", a.Tile, 2*block, maxHeadsTile)
	case a.From < 0 || a.From > plan.MaxWidth:
		return fmt.Errorf("tuning.attend_heads.from is %d; expected up to %d", a.From, plan.MaxWidth)
	}
	return nil
}

// ofWidth is the name of a kernel's shape in sequences of a given number of rows alone, as such a kernel is
// called.
func ofWidth(kernel string, width int) string { return fmt.Sprintf("%s_x%d", kernel, width) }

// AnyWidth takes a name from tuning apart: a kernel, and the width whose sequences alone it is for,
// if it is such a name. Else the kernel is all of it, and the width 1.
func AnyWidth(name string) (kernel string, width int, ok bool) {
	if i := strings.LastIndex(name, "_x"); i > 0 {
		width, err := strconv.Atoi(name[i+2:])
		if kernel = name[:i]; err == nil && width > 1 && name == ofWidth(kernel, width) {
			return kernel, width, true
		}
	}
	return name, 1, false
}

// Of is the entry of a kernel in sequences of a given number of rows: that of the width before that of any;
// nil: there is none.
func (t *Tuning) Of(kernel string, width int) *KernelShape {
	if k := t.OfWidth(kernel, width); k != nil {
		return k
	}
	return t.named(kernel)
}

// OfWidth is the entry of a kernel in sequences of a given number of rows alone; nil: there is none.
func (t *Tuning) OfWidth(kernel string, width int) *KernelShape {
	return t.named(ofWidth(kernel, width))
}

// ShapeOf is what a tuning says of a kernel in sequences of a given number of rows; zeros are left open.
func (t *Tuning) ShapeOf(kernel string, width int) Shape {
	if k := t.Of(kernel, width); k != nil {
		return k.Shape
	}
	return t.MatVec
}
