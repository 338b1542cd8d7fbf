// Package tune chooses the constants of kernels by measurement, ahead of time: how
// many rows a simdgroup makes, how many simdgroups a threadgroup has, how many of them
// share a row and how much of it is under way at a time, kernel by kernel, and how
// attention is cut.
//
// [Knobs] proposes the values that compile, [Search] looks for the quickest with a
// [Measurer], and spec.Retune writes them into a tuning file. The package measures and
// compiles nothing itself for a GPU: [Pieces] cuts a bundle into kernels, so that
// whoever does compiles each of them once.
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

// Attention is the name of the knob that cuts attention.
const Attention = "attention"

// Knob is one choice.
type Knob struct {
	Name string // of a kernel, or Attention
	// Stages are the names of the stages whose time it changes, see StageName.
	Stages []string
	// Values are what it can be, and all of them compile; the first is what the spec
	// says now.
	Values []Value
}

// Value is the shape of a kernel or, for Attention, how attention is cut.
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

// numbers are a value's constants, in the order of String.
func (v Value) numbers() []int {
	if a := v.Attention; a != (spec.Attention{}) {
		return []int{a.Splits, a.Tile, a.Simdgroups}
	}
	return []int{v.Shape.RowsPerSimdgroup, v.Shape.Simdgroups, v.Shape.SplitK, v.Shape.Unroll}
}

// near says whether two values are neighbours: one constant is up to twice the
// other's, or the second and the third are, both in one direction (simdgroups and how
// many of them share a row go together).
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

// apply is t with a knob at a value.
func (k *Knob) apply(t *spec.Tuning, v Value) {
	if k.Name == Attention {
		t.Attention = v.Attention
		return
	}
	t.SetShape(k.Name, v.Shape)
}

// Tuning is t with each knob at one of its values, by index. Knobs at their first
// values change nothing.
func Tuning(t spec.Tuning, knobs []Knob, choice []int) spec.Tuning {
	for i := range knobs {
		if choice[i] > 0 {
			knobs[i].apply(&t, knobs[i].Values[choice[i]])
		}
	}
	return t
}

// sumGroup is what every proposed shape of the kernels that hand a norm's input over
// allows, see spec.Tuning: the least number of rows.
const sumGroup = 2

// Trial is s as its kernels are measured: with a tuning, with sums of squares that do
// not depend on it, and without a sampler. kernels has for each dispatch of the bundle
// the name that the spec's tuning knows its kernel by.
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

// stages names for each dispatch the stage that it belongs to: what lies between two
// barriers.
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

// StageName is the name of the stage of some kernels, which run side by side and so
// have one time.
func StageName(kernels []string) string { return strings.Join(kernels, " + ") }

// kernelNames are the names by which a tuning knows the kernels of a program's launches,
// one per dispatch.
func kernelNames(p *ir.Program) []string {
	var names []string
	for _, s := range p.Launches {
		names = append(names, s.Name())
	}
	return names
}

// shaped are the kinds of ops whose kernels have a spec.Shape.
var shaped = []ir.Kind{ir.MatVec, ir.ExpertsMatVec}

// attending are those that how attention is cut changes.
var attending = []ir.Kind{ir.AttendSplit, ir.Combine}

func has(s *ir.Launch, kinds []ir.Kind) bool {
	return slices.ContainsFunc(s.Parts, func(p *ir.Part) bool {
		return slices.ContainsFunc(kinds, func(k ir.Kind) bool { return p.Find(k) != nil })
	})
}

// Change is what the spec has to say for a choice; found says where it is from.
func (c *Choice) Change(found spec.Found) spec.Change {
	return spec.Change{Kernel: c.Knob.kernel(), Shape: c.To.Shape, Attention: c.To.Attention, Found: found}
}

// kernel is the kernel that a knob shapes, "" for attention.
func (k *Knob) kernel() string {
	if k.Name == Attention {
		return ""
	}
	return k.Name
}
