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

// WithTuning returns the spec with another tuning, or an error if the tuning breaks a rule that Parse checks.
// Path and positions stay those of the file.
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

// At says where the entry is, for messages.
func (k *KernelShape) At() string { return fmt.Sprintf("line %d of %s", k.Line, filepath.Base(k.File)) }

// Shape returns the shape that the tuning gives the kernel by name, and whether it does.
func (t *Tuning) Shape(kernel string) (Shape, bool) {
	if k := t.named(kernel); k != nil {
		return k.Shape, true
	}
	return Shape{}, false
}

// named returns the entry with a name, or nil if there is none.
func (t *Tuning) named(name string) *KernelShape {
	if i := slices.IndexFunc(t.Kernels, func(k KernelShape) bool { return k.Kernel == name }); i >= 0 {
		return &t.Kernels[i]
	}
	return nil
}

// SetShape sets the shape of one kernel. It leaves copies of t alone.
func (t *Tuning) SetShape(kernel string, s Shape) {
	t.Kernels = slices.Clone(t.Kernels) // copies of t share the old list
	if t.named(kernel) == nil {
		t.Kernels = append(t.Kernels, KernelShape{Kernel: kernel})
	}
	t.named(kernel).Shape = s
}

// shapeError checks the ranges of a shape. A zero is left open.
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

// attentionError checks the ranges of a split of attention.
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

// maxHeadsTile bounds the cache rows in a tile of attention over expanded heads; runtime/plan/verify has the
// same bound.
const maxHeadsTile = 64

// headsError checks the ranges of attention over expanded heads.
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

// ofWidth is the name in tuning.kernels of a kernel in sequences of one width; such a kernel has the same
// name.
func ofWidth(kernel string, width int) string { return fmt.Sprintf("%s_x%d", kernel, width) }

// AnyWidth splits a name of tuning.kernels into a kernel and a width, and reports whether it has a width. A
// name without one is returned whole, with width 1.
func AnyWidth(name string) (kernel string, width int, ok bool) {
	if i := strings.LastIndex(name, "_x"); i > 0 {
		width, err := strconv.Atoi(name[i+2:])
		if kernel = name[:i]; err == nil && width > 1 && name == ofWidth(kernel, width) {
			return kernel, width, true
		}
	}
	return name, 1, false
}

// Of returns the entry for a kernel in sequences of a width: the entry for this width, else the entry for any
// width, else nil.
func (t *Tuning) Of(kernel string, width int) *KernelShape {
	if k := t.OfWidth(kernel, width); k != nil {
		return k
	}
	return t.named(kernel)
}

// OfWidth returns the entry for a kernel that is for this width only, or nil.
func (t *Tuning) OfWidth(kernel string, width int) *KernelShape {
	return t.named(ofWidth(kernel, width))
}

// ShapeOf returns the shape that a tuning gives a kernel in sequences of a width. A zero is left open.
func (t *Tuning) ShapeOf(kernel string, width int) Shape {
	if k := t.Of(kernel, width); k != nil {
		return k.Shape
	}
	return t.MatVec
}
