package tune

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen"
	"mla/gen/ir"
	"mla/gen/pass"
	"mla/gen/spec"
)

// The proposed values. A simdgroup makes an even number of rows, because a rotary pair must belong to one
// simdgroup.
var (
	rows       = []int{2, 4, 8}
	simdgroups = []int{2, 4, 8, 16}
	unrolls    = []int{2, 4, 8}
	splits     = []int{32, 64, 128, 256}
	tiles      = []int{8, 16, 32}
	attenders  = []int{4, 8, 16}
)

// Knobs lists what can be tuned in s: the shape of each mat-vec kernel, and the split of attention. names
// selects some of them; without names it returns all. It fails for a name that does not exist. s must have
// one quant profile.
func Knobs(s *spec.Spec, names []string) ([]Knob, error) {
	all, err := starts(s)
	if err != nil {
		return nil, err
	}
	var picked []Knob
	for _, k := range all {
		if len(names) == 0 || slices.Contains(names, k.Name) {
			picked = append(picked, k)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(k Knob) bool { return k.Name == name }) {
			return nil, fmt.Errorf("%s has nothing to tune in %q; it has %s", s.File, name, strings.Join(knobNames(all), ", "))
		}
	}
	legal(s, picked)
	for i := range picked {
		picked[i].Values = unrolled(picked[i].Values)
	}
	return picked, nil
}

func knobNames(knobs []Knob) []string {
	var names []string
	for _, k := range knobs {
		names = append(names, k.Name)
	}
	return names
}

// starts returns all knobs with all proposed values, whether they compile or not.
func starts(s *spec.Spec) ([]Knob, error) {
	p, err := gen.Program(s, 1, pass.Options{})
	if err != nil {
		return nil, err
	}
	b, kernels, err := Trial(s, s.Tuning)
	if err != nil {
		return nil, err
	}
	stages := stages(b, kernels)
	var shapes []Knob
	cut := Knob{Name: Attention, Values: attentionValues(s.Tuning.Attention)}
	for i, launch := range p.Launches {
		if has(launch, attending) {
			cut.Stages = add(cut.Stages, stages[i])
		}
		if !has(launch, shaped) {
			continue
		}
		at := slices.IndexFunc(shapes, func(k Knob) bool { return k.Name == launch.Name() })
		if at < 0 {
			at = len(shapes)
			shapes = append(shapes, Knob{Name: launch.Name(), Values: shapeValues(p.Shape(launch))})
		}
		shapes[at].Stages = add(shapes[at].Stages, stages[i])
	}
	return append(shapes, cut), nil
}

// add appends name unless names has it.
func add(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func shapeValues(start spec.Shape) []Value {
	values := []Value{{Shape: start}}
	for _, r := range rows {
		for _, n := range simdgroups {
			for k := 1; k <= n; k *= 2 {
				if s := (spec.Shape{RowsPerSimdgroup: r, Simdgroups: n, SplitK: k, Unroll: start.Unroll}); s != start {
					values = append(values, Value{Shape: s})
				}
			}
		}
	}
	return values
}

// unrolled adds to each shape the shapes with other numbers of blocks in flight. These compile if the shape
// does: unrolling takes no threadgroup memory, and changes nothing else.
func unrolled(values []Value) []Value {
	all := slices.Clone(values)
	for _, v := range values {
		for _, u := range unrolls {
			more := v
			if more.Shape.Unroll = u; v.Attention == (spec.Attention{}) && more != v {
				all = append(all, more)
			}
		}
	}
	return all
}

func attentionValues(start spec.Attention) []Value {
	values := []Value{{Attention: start}}
	for _, count := range splits {
		for _, tile := range tiles {
			for _, n := range attenders {
				if a := (spec.Attention{Splits: count, Tile: tile, Simdgroups: n}); a != start {
					values = append(values, Value{Attention: a})
				}
			}
		}
	}
	return values
}

// Within removes the values that a search cannot reach in a number of rounds, starting from the first value
// and moving to a neighbour in each round.
func Within(knobs []Knob, rounds int) []Knob {
	near := slices.Clone(knobs)
	for i := range near {
		all := near[i].Values
		reached := all[:1:1]
		for range rounds {
			before := reached
			for _, v := range all {
				if !slices.Contains(reached, v) && slices.ContainsFunc(before, v.near) {
					reached = append(reached, v)
				}
			}
		}
		near[i].Values = reached
	}
	return near
}

// Cover lists choices in which every value of every knob occurs. In the first choice all knobs have their
// first values. In each other choice, of all knobs that change a common stage at most one differs from its
// first value. So the choices contain every kernel that a search measures, except combinations of two such
// knobs that both won.
func Cover(knobs []Knob) [][]int {
	all := [][]int{make([]int, len(knobs))}
	next := make([]int, len(knobs)) // index of the last value of each knob that was covered
	for {
		var moved []int
		choice := make([]int, len(knobs))
		for i, k := range knobs {
			if next[i]+1 < len(k.Values) && !overlaps(knobs, moved, i) {
				moved = append(moved, i)
				next[i]++
				choice[i] = next[i]
			}
		}
		if len(moved) == 0 {
			return all
		}
		all = append(all, choice)
	}
}

// overlaps reports whether a knob changes a stage that one of the others changes.
func overlaps(knobs []Knob, others []int, knob int) bool {
	return slices.ContainsFunc(others, func(o int) bool {
		return slices.ContainsFunc(knobs[o].Stages, func(stage string) bool { return slices.Contains(knobs[knob].Stages, stage) })
	})
}

// legal removes the values that do not compile. The shapes of kernels do not depend on each other (see
// Trial), so it compiles values of many knobs at once, and one by one only if that fails.
func legal(s *spec.Spec, knobs []Knob) {
	good := make([][]Value, len(knobs))
	for i, k := range knobs {
		good[i] = k.Values[:1:1]
	}
	for _, choice := range Cover(knobs) {
		_, _, all := Trial(s, Tuning(s.Tuning, knobs, choice))
		for i, value := range choice {
			if value > 0 && (all == nil || compiles(s, knobs, i, value)) {
				good[i] = append(good[i], knobs[i].Values[value])
			}
		}
	}
	for i := range knobs {
		knobs[i].Values = good[i]
	}
}

// compiles reports whether s compiles with a value of one knob and the first values of the others.
func compiles(s *spec.Spec, knobs []Knob, knob, value int) bool {
	choice := make([]int, len(knobs))
	choice[knob] = value
	_, _, err := Trial(s, Tuning(s.Tuning, knobs, choice))
	return err == nil
}

// Short returns s with as few layers as have all its kernels, so that a model with the same matrices is
// quickly made, loaded and measured. It returns s itself if the short model does not compile (some families
// are recognised by their number of layers) or has other kernels.
func Short(s *spec.Spec) *spec.Spec {
	short, dense := *s, s.Model.NumHiddenLayers
	if s.MoE != nil {
		moe := *s.MoE
		short.MoE, dense = &moe, s.MoE.FirstKDenseReplace
		moe.FirstKDenseReplace = min(dense, shortLayers)
		short.Model.NumHiddenLayers = moe.FirstKDenseReplace + min(s.Model.NumHiddenLayers-dense, shortLayers)
	} else {
		short.Model.NumHiddenLayers = min(dense, shortLayers)
	}
	whole, err := gen.Program(s, 1, pass.Options{})
	if err != nil {
		return s
	}
	less, err := gen.Program(&short, 1, pass.Options{})
	if err != nil || !slices.Equal(distinct(whole), distinct(less)) {
		return s
	}
	return &short
}

// shortLayers is the number of layers of each kind in a short model: the first, the last, and one between
// them.
const shortLayers = 3

// distinct returns the names of a program's kernels, sorted, each once.
func distinct(p *ir.Program) []string {
	names := kernelNames(p)
	slices.Sort(names)
	return slices.Compact(names)
}
