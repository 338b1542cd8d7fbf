// Package tune chooses the constants of kernels by measurement, at compile time. For each kernel these are
// the rows of a simdgroup, the simdgroups of a threadgroup, how many of them share a row, and how many blocks
// are in flight; and for attention its split.
//
// [Knobs] proposes values that compile, [Search] finds the fastest with a [Measurer], and spec.Retune writes
// them into a tuning file. The package itself does not run a GPU. [Pieces] splits a bundle into kernels, so
// that a Measurer compiles each kernel only once.
package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mla/gen"
	"mla/gen/ir"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// Attention is the name of the knob for the split of attention.
const Attention = "attention"

// Knob is one thing to tune.
type Knob struct {
	Name string // of a kernel, or Attention
	// Stages are the names of the stages whose times depend on it, see StageName.
	Stages []string
	// Values are its possible values. The first is the present one.
	Values []Value
}

// Value is the shape of a kernel or, for Attention, the split of attention.
type Value struct {
	Shape     spec.Shape
	Attention spec.Attention
}

func (v Value) String() string {
	if v.Attention != (spec.Attention{}) {
		return fmt.Sprintf("splits %d, tile %d, simdgroups %d", v.Attention.Splits, v.Attention.Tile, v.Attention.Simdgroups)
	}
	return fmt.Sprintf("rows %d, simdgroups %d, split_k %d, unroll %d", v.Shape.RowsPerSimdgroup, v.Shape.Simdgroups, v.Shape.SplitK, v.Shape.Unroll)
}

// numbers returns a value's constants, in the order of String.
func (v Value) numbers() []int {
	if a := v.Attention; a != (spec.Attention{}) {
		return []int{a.Splits, a.Tile, a.Simdgroups}
	}
	return []int{v.Shape.RowsPerSimdgroup, v.Shape.Simdgroups, v.Shape.SplitK, v.Shape.Unroll}
}

// near reports whether two values are neighbours: one constant differs by at most a factor of two; or
// simdgroups and split_k both do, in the same direction.
func (v Value) near(w Value) bool {
	a, b := v.numbers(), w.numbers()
	step := make([]float64, len(a))
	differ := 0
	for i := range step {
		step[i] = math.Log2(float64(a[i]) / float64(b[i]))
		if math.Abs(step[i]) > 1 {
			return false
		}
		if step[i] != 0 {
			differ++
		}
	}
	return differ == 1 || differ == 2 && step[1]*step[2] > 0
}

// apply sets the value of a knob in t.
func (k *Knob) apply(t *spec.Tuning, v Value) {
	if k.Name == Attention {
		t.Attention = v.Attention
		return
	}
	t.SetShape(k.Name, v.Shape)
}

// Tuning returns t with each knob at one of its values, given by index. Knobs at their first values are not
// changed.
func Tuning(t spec.Tuning, knobs []Knob, choice []int) spec.Tuning {
	for i := range knobs {
		if choice[i] > 0 {
			knobs[i].apply(&t, knobs[i].Values[choice[i]])
		}
	}
	return t
}

// sumGroup is the group of partial sums that is compatible with every proposed shape of the kernels that
// write norms: the least number of rows. See spec.Tuning.
const sumGroup = 2

// Trial returns the bundle to measure: s with a tuning, with partial sums that do not depend on the tuning,
// and without a sampler. kernels has for each dispatch the name of its kernel in the spec's tuning.
func Trial(s *spec.Spec, t spec.Tuning) (b *plan.Bundle, kernels []string, err error) {
	t.SumGroup = sumGroup
	with, err := s.WithTuning(t)
	if err != nil {
		return nil, nil, err
	}
	p, err := gen.Program(with, 1, pass.Options{})
	if err != nil {
		return nil, nil, err
	}
	if b, err = gen.Compile(with, nil); err != nil {
		return nil, nil, err
	}
	b.Pick, b.PickBytes = nil, 0
	return b, kernelNames(p), nil
}

// stages returns for each dispatch the name of its stage. A stage is the dispatches between two barriers.
func stages(b *plan.Bundle, kernels []string) []string {
	list := b.Decode().Dispatches
	names := make([]string, len(list))
	for first := 0; first < len(names); {
		end := first + 1
		for end < len(names) && !list[end].Barrier {
			end++
		}
		name := StageName(kernels[first:end])
		for ; first < end; first++ {
			names[first] = name
		}
	}
	return names
}

// StageName returns the name of a stage with these kernels. They run concurrently, so only the stage has a
// time.
func StageName(kernels []string) string { return strings.Join(kernels, " + ") }

// kernelNames returns the names of a program's kernels in a tuning, one per launch.
func kernelNames(p *ir.Program) []string {
	var names []string
	for _, s := range p.Launches {
		names = append(names, s.Name())
	}
	return names
}

// shaped are the kinds of ops whose kernels have a spec.Shape.
var shaped = []ir.Kind{ir.MatVec, ir.ExpertsMatVec}

// attending are the kinds of ops that the split of attention changes.
var attending = []ir.Kind{ir.AttendSplit, ir.Combine}

func has(s *ir.Launch, kinds []ir.Kind) bool {
	return slices.ContainsFunc(s.Parts, func(p *ir.Part) bool {
		return slices.ContainsFunc(kinds, func(k ir.Kind) bool { return p.Find(k) != nil })
	})
}

// Change returns the change to a tuning file; found is its source.
func (c *Choice) Change(found spec.Found) spec.Change {
	return spec.Change{Kernel: c.Knob.kernel(), Shape: c.To.Shape, Attention: c.To.Attention, Found: found}
}

// kernel returns the kernel that a knob shapes, "" for attention.
func (k *Knob) kernel() string {
	if k.Name == Attention {
		return ""
	}
	return k.Name
}
