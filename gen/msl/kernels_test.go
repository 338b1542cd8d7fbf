package msl_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// launcher runs kernels on the executor. It is a device.Launcher.
type launcher struct {
	*execute.Copies
	split bool // weights go to the kernel as quant.SplitRows lays them out
}

func newLauncher(t *testing.T, source string, c execute.Checks) *launcher {
	t.Helper()
	program, err := execute.Compile(source, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	})
	return &launcher{program.Copies(), strings.HasPrefix(source, splitRows)}
}

// Launch implements device.Launcher.
func (l *launcher) Launch(c *device.Launch) error {
	buffers := c.Buffers
	if l.split {
		buffers = slices.Clone(buffers)
		for i, slot := range c.Kernel.TypedSlots() {
			if f, ok := quant.Lookup(c.Variant.Types[i]); ok {
				buffers[slot] = splitWeights(c.Kernel, slot, f, buffers[slot])
			}
		}
	}
	return l.Run(c.Variant.Func, c.Groups, c.Threads, buffers)
}

// splitRows is the first line of a source whose kernels read rows in the split layout.
const splitRows = "#define SPLIT_ROWS true\n"

// splitWeights returns a matrix of a kernel, converted to the split layout if its format has one.
func splitWeights(k *plan.Kernel, slot int, f *quant.Format, data []byte) []byte {
	for _, p := range k.Parts {
		for _, m := range plan.WeightsOf(p) {
			if m.Slot == slot && f.Splits(m.Cols) {
				rowBytes, _ := f.RowBytes(m.Cols)
				split := make([]byte, len(data)/rowBytes*f.SplitRowBytes(m.Cols))
				f.SplitRows(split, data, m.Cols)
				return split
			}
		}
	}
	return data
}

// watched says how a bundle's kernels are compiled and run: those of real width with fewer
// checks and optimised, all others the other way round.
func watched(b *plan.Bundle) execute.Checks {
	if large(b) {
		return execute.Fast
	}
	return execute.Checked | execute.Small
}

// large says that a bundle is of real width; its kernels run with fewer checks.
func large(b *plan.Bundle) bool { return b.Model.HiddenSize > 512 }

// own returns the part of a bundle that TestKernels runs. For the bundle of a device class these are the
// kernels that the bundle for any device lacks. The other kernels have the same text there, because the text
// depends only on the plan and the type of activations.
func own(t *testing.T, b *plan.Bundle) *plan.Bundle {
	t.Helper()
	general := b.In(plan.ClassApple, generated.Bundles())
	if general == nil || general == b {
		return b
	}
	less := *b
	less.Kernels, less.Sequences, less.Pick = nil, []plan.Sequence{{Width: 1}}, nil
	for i, k := range b.Kernels {
		first := slices.IndexFunc(b.Decode().Dispatches, func(d plan.Dispatch) bool { return d.Kernel == i })
		if first < 0 || slices.ContainsFunc(general.Kernels, func(g plan.Kernel) bool { return reflect.DeepEqual(g, k) }) {
			continue
		}
		d := b.Decode().Dispatches[first]
		d.Kernel = len(less.Kernels)
		less.Kernels, less.Decode().Dispatches = append(less.Kernels, k), append(less.Decode().Dispatches, d)
	}
	var err error
	if less.Source, err = msl.Print(&less, "// test"); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(less.Source, "\n")
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "//: ") && !strings.Contains(b.Source, line+"\n") {
			t.Fatalf("%s has no line %q", b.Name, line)
		}
	}
	return &less
}

// runsInHalves says that a bundle of real width is compiled with activations in half, too, which
// runs instead. Both have one text; small bundles run with either type of activations.
func runsInHalves(b *plan.Bundle) bool {
	return large(b) && b.Activations == plan.ElemF32 && slices.ContainsFunc(generated.Bundles(), func(o *plan.Bundle) bool {
		return o.Spec == b.Spec && o.Class == b.Class && o.Activations == plan.ElemF16
	})
}

// fastBundles are the bundles whose kernels the fast tier runs: between them they have every
// part of a token, and both types of activations.
var fastBundles = []string{"yoututiny", "dsv2liteminif16"}

// TestKernels runs every variant of every kernel in the programs and compares all memory with the results of
// the Go references.
func TestKernels(t *testing.T) {
	for _, b := range generated.Bundles() {
		if !deep.On && !slices.Contains(fastBundles, b.Name) || runsInHalves(b) {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			b := own(t, printed(t, b))
			cases := referenceCases(t, b)
			launcherOf(t, b, cases, watched(b)).compareWithReference(t, cases)
		})
	}
}

// referenceCases are the cases of a bundle that compareWithReference runs.
func referenceCases(t *testing.T, b *plan.Bundle) []check.Case {
	t.Helper()
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	if !large(b) {
		return thin(cases)
	}
	// A large bundle runs fewer cases, because its kernels take long. TestPromptKernels covers kernels for
	// prompts, on a small model. Small bundles cover the formats of weights. Kernels of 2 rows and of the most
	// rows of a batch stand for the widths between them.
	return slices.DeleteFunc(cases, func(c check.Case) bool {
		w := c.Kernel.Width
		return w != 0 && w != 2 && w != b.BatchRows() || w > 0 && c.Variant != &c.Kernel.Variants[0]
	})
}

// launcherOf compiles the kernels of a bundle's source that the cases need.
func launcherOf(t *testing.T, b *plan.Bundle, cases []check.Case, checks execute.Checks) *launcher {
	t.Helper()
	var functions []string
	for _, c := range cases {
		functions = append(functions, c.Variant.Func)
	}
	source, err := pieces.Parse(b.Metal()).Cut(functions)
	if err != nil {
		t.Fatal(err)
	}
	return newLauncher(t, source, checks)
}

func (l *launcher) compareWithReference(t *testing.T, cases []check.Case) {
	t.Helper()
	for i := range cases {
		if r := cases[i].Check(l); !r.OK() {
			t.Error(r.Problem())
		}
	}
}

// thin leaves of the kernels of several rows, which take sixteen times as long, the first
// variant of each and one with each type: what a format does is the same in all of them.
func thin(cases []check.Case) []check.Case {
	seen := map[quant.Type]bool{}
	return slices.DeleteFunc(cases, func(c check.Case) bool {
		if c.Kernel.Width == 0 || c.Variant == &c.Kernel.Variants[0] {
			return false
		}
		news := slices.ContainsFunc(c.Variant.Types, func(t quant.Type) bool { return !seen[t] })
		for _, t := range c.Variant.Types {
			seen[t] = true
		}
		return !news
	})
}

// TestPromptKernels runs the kernels of a sequence of more rows than a batch, and than a tile of inputs:
// of floats, and of halves, whose tiles are filled while others are multiplied by, with one format each.
func TestPromptKernels(t *testing.T) {
	t.Parallel()
	acts := []string{"f16", "f32"}
	if !deep.On {
		acts = acts[:1]
	}
	for _, act := range acts {
		s, err := spec.Load("../../specs/dsv2litemini.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Activations = act
		b, err := gen.Compile(s.WithSequences(1, 72), nil)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := check.Cases(b)
		if err != nil {
			t.Fatal(err)
		}
		cases = thin(slices.DeleteFunc(cases, func(c check.Case) bool {
			return c.Kernel.Width == 0 || act == "f16" && c.Variant != &c.Kernel.Variants[0]
		}))
		launcherOf(t, b, cases, execute.Checked).compareWithReference(t, cases)
	}
}

// TestFewRows runs the kernels of sequences of few rows: mat-vecs that take the inputs of all of them, and
// experts and a combine that each row has threadgroups of its own for.
func TestFewRows(t *testing.T) {
	t.Parallel()
	models := map[string]string{"dsv2litemini": "f32", "glm47mini": "f16", "youtumini": "f32"}
	if !deep.On {
		models = map[string]string{"youtumini": "f32"}
	}
	for name, act := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := spec.Load("../../specs/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			s.Activations = act
			s = s.WithSequences(1, 2, 3, 4)
			b, err := gen.Compile(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range b.Kernels {
				if m, ok := k.Parts[0].(*plan.MatVec); ok && k.Width == 3 && m.Combine == nil {
					s.Tuning.SetShape(k.Name, spec.Shape{}) // a mat-vec; those of 4 rows stay matrices
				}
			}
			if b, err = gen.Compile(s, nil); err != nil {
				t.Fatal(err)
			}
			cases, err := check.Cases(b)
			if err != nil {
				t.Fatal(err)
			}
			several, apart := false, false
			cases = thin(slices.DeleteFunc(cases, func(c check.Case) bool {
				m, ok := c.Kernel.Parts[0].(*plan.MatVec)
				several, apart = several || ok && m.Tokens == 3, apart || c.Kernel.Width > 0 && ok && m.Combine != nil
				return c.Kernel.Width == 0
			}))
			if !several || !apart {
				t.Errorf("mat-vecs with three inputs: %t; of rows by themselves: %t", several, apart)
			}
			launcherOf(t, b, cases, watched(b)).compareWithReference(t, cases)
		})
	}
}

// headShape is a model and how its expanded heads are made and read.
type headShape struct {
	act, class string
	nope, v    int
	attend     spec.AttendHeads
	wantedTile int
}

var headShapes = []headShape{
	{"f16", "", 32, 32, spec.AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 8, SplitK: 2, Tile: 32}, 32},
	{"f32", "", 192, 136, spec.AttendHeads{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 4, Tile: 32}, 32},
	{"f16", "", 128, 264, spec.AttendHeads{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 1, Tile: 32}, 16},
	{"f32", "", 40, 72, spec.AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 1, SplitK: 1, Tile: 16}, 16},
	{"f16", "", 256, 32, spec.AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 2, SplitK: 2, Tile: 16}, 16},
	{"f16", plan.ClassApple, 128, 136, spec.AttendHeads{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 8, Tile: 64}, 64},
	{"f32", plan.ClassApple, 192, 72, spec.AttendHeads{RowsPerSimdgroup: 24, Simdgroups: 4, SplitK: 2, Tile: 64}, 64},
	{"f32", plan.ClassApple, 64, 24, spec.AttendHeads{RowsPerSimdgroup: 16, Simdgroups: 2, SplitK: 1, Tile: 32}, 32},
	{"f16", plan.ClassApple, 256, 32, spec.AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 2, SplitK: 2, Tile: 16}, 16},
	{"f16", plan.ClassApple, 160, 256, spec.AttendHeads{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 1, Tile: 32}, 32},
	{"f32", plan.ClassNVIDIA, 160, 256, spec.AttendHeads{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 2, Tile: 32}, 32},
}

func (c headShape) compile(t *testing.T) *plan.Bundle {
	t.Helper()
	s, err := spec.Load("../../specs/dsv2litemini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.attend.From = 17
	tuning := s.Tuning
	tuning.AttendHeads = c.attend
	if s, err = s.WithTuning(tuning); err != nil {
		t.Fatal(err)
	}
	s.Activations, s.Class, s.Model.QKNopeHeadDim, s.Model.VHeadDim = c.act, c.class, c.nope, c.v
	s.Model.NumAttentionHeads, s.Model.KVLoraRank = 2, 96
	if c.nope == 256 {
		s.Quants = []spec.Quant{{Name: "q6_k", Stock: "q6_k"}} // whose lanes have columns far apart
	}
	if got := target.For(s.Class).HeadsTile(&s.Model.Dims, &s.Tuning.AttendHeads); got != c.wantedTile {
		t.Errorf("%+v: tiles of %d rows; expected %d", c, got, c.wantedTile)
	}
	b, err := gen.Compile(s.WithSequences(1, 72), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHeads runs the kernels that make expanded heads and attend to them, on caches of all types
// and with both activations: rows of a tile that is not full, dead rows, sessions that share a tile,
// one and two blocks of queries, one to four simdgroups that share them, heads of fewer columns
// than a threadgroup makes and of more, keys whose lanes decode columns far apart, memory with room for
// nothing but a tile.
func TestHeads(t *testing.T) {
	t.Parallel()
	shapes := headShapes
	if !deep.On {
		shapes = shapes[:1]
	}
	for i, c := range shapes {
		_, l, cases := c.cases(t)
		cases = thin(slices.DeleteFunc(cases, func(c check.Case) bool {
			return !aboutHeads(c.Kernel) || c.Pos > 100 && i > 0 // pages take time to make
		}))
		if len(cases) < 3 {
			t.Errorf("%d: %d cases", i, len(cases))
		}
		for _, c := range cases {
			if r := c.Check(l); !r.OK() {
				t.Errorf("%d: %s", i, r.Problem())
			}
		}
	}
}

// cases compiles the shape, and returns what launches its kernels about heads, and the cases of all its kernels.
func (c headShape) cases(t *testing.T) (*plan.Bundle, *launcher, []check.Case) {
	t.Helper()
	b := c.compile(t)
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, headsLauncher(t, b), cases
}

// headsLauncher compiles the kernels of a bundle that are about heads.
func headsLauncher(t *testing.T, b *plan.Bundle) *launcher {
	t.Helper()
	few := plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model}
	few.Kernels = slices.DeleteFunc(slices.Clone(b.Kernels), func(k plan.Kernel) bool { return !aboutHeads(&k) })
	if b.Class == target.MetalClass {
		few.Class = b.Class // its text is another; that of class nvidia runs on no CPU
	}
	var err error
	if few.Source, err = msl.Print(&few, "// test"); err != nil {
		t.Fatal(err)
	}
	return newLauncher(t, few.Metal(), execute.Checked|execute.Small)
}

// aboutHeads reports whether a kernel makes expanded heads or attends to them.
func aboutHeads(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceHeads })
}

// TestFastParts: the bundles that the fast tier runs, here and in TestPromptKernels, TestHeads and TestLinear,
// have every part of the bundles that ship.
func TestFastParts(t *testing.T) {
	parts := func(b *plan.Bundle, into map[string]bool) {
		for i := range b.Kernels {
			for _, p := range b.Kernels[i].Parts {
				into[fmt.Sprintf("%T", p)] = true
			}
		}
	}
	fast, all := map[string]bool{}, map[string]bool{}
	for _, b := range generated.Bundles() {
		parts(b, all)
		if slices.Contains(fastBundles, b.Name) {
			parts(b, fast)
		}
	}
	s, err := spec.Load("../../specs/dsv2litemini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := gen.Compile(s.WithSequences(1, 72), nil)
	if err != nil {
		t.Fatal(err)
	}
	parts(prompts, fast)
	parts(headShapes[0].compile(t), fast)
	parts(hybridBundle(t, 0, "", "f32", []int{1, 24}), fast) // of TestLinear
	parts(hybridBundle(t, 1, plan.ClassNVIDIA, "f32", []int{24}), fast)
	if len(all) < 15 {
		t.Errorf("%d kinds of parts", len(all))
	}
	for p := range all {
		if !fast[p] {
			t.Errorf("the fast tier runs no %s", p)
		}
	}
}
