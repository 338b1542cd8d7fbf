package msl_test

import (
	"fmt"
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/interp"
	"mla/gen/ir"
	"mla/gen/kernel"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// TestInterpreter compares every dispatch of small models with the op interpreter, which computes in float64
// from the same inputs, and every kernel with its Go reference: all quant types in all kernels of a dense and
// two MoE models, one of them without any fusion; then random models, whose sizes are odd, with types that
// change from weight to weight.
func TestInterpreter(t *testing.T) {
	var all []string
	for _, p := range pass.Pipeline {
		if !p.Required {
			all = append(all, p.Name)
		}
	}
	models, seeds := []struct {
		name    string
		spec    *spec.Spec
		disable []string
	}{
		{"dense", wide("f32", nil), nil},
		{"moe", wide("f16", &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: 3, NSharedExperts: 1, MoEIntermediateSize: 256, ScoringFunc: "sigmoid",
			SelectionBias: true, NormTopKProb: true, RoutedScalingFactor: 1.8, NGroup: 4, TopKGroup: 2}), nil},
		{"unfused", wide("f32", &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: 2, MoEIntermediateSize: 256, ScoringFunc: "softmax", NGroup: 1, TopKGroup: 1}), all},
	}, uint64(5)
	if !deep.On {
		models, seeds = models[:1], 1
	}
	for _, tt := range models {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var profiles []assignment
			for _, f := range examples() {
				profiles = append(profiles, func(int) *quant.Format { return f })
			}
			interpret(t, tt.spec, tt.disable, profiles)
		})
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("random %d", seed), func(t *testing.T) {
			t.Parallel()
			formats := quant.Formats()
			mixed := func(row int) *quant.Format { return formats[(int(seed)*5+row*3)%len(formats)] }
			s := spectest.Random(seed)
			if seed == 4 {
				s = spectest.As("plm", s)
			}
			interpret(t, s, nil, []assignment{mixed})
		})
	}
}

// examples are all formats in the deep tier, else one of each kind.
func examples() []*quant.Format {
	if deep.On {
		return quant.Formats()
	}
	var list []*quant.Format
	for _, t := range []quant.Type{quant.Q4_0, quant.Q6_K, quant.Q3_K, quant.IQ2_XXS} {
		f, _ := quant.Lookup(t)
		list = append(list, f)
	}
	return list
}

// wide returns a model in which the rows of every matrix are whole blocks of every format, and the numbers of
// rows are no multiple of a threadgroup's rows.
func wide(activations string, moe *spec.MoE) *spec.Spec {
	s := &spec.Spec{Name: "wide", File: "wide.yaml", Tokenizer: "glm4", ChatTemplate: "none", Activations: activations, MoE: moe}
	s.Model = spec.Model{Title: "wide", Dims: spec.Dims{VocabSize: 77, HiddenSize: 256, NumHiddenLayers: 1, NumAttentionHeads: 3, KVLoraRank: 256,
		QKNopeHeadDim: 256, QKRopeHeadDim: 24, VHeadDim: 256, IntermediateSize: 256, MaxPositionEmbeddings: 64,
		RMSNormEps: 1e-6, TieWordEmbeddings: moe == nil}}
	if moe != nil {
		s.Model.QLoraRank = 256
	} else {
		s.Model.QKRopeHeadDim = 32 // a cache of Q8_0 is possible
	}
	s.Rope.Theta = 10000
	s.Tuning = spec.Tuning{MatVec: spec.Shape{RowsPerSimdgroup: 2, Simdgroups: 3}, Attention: spec.Attention{Splits: 4, Tile: 2, Simdgroups: 2}}
	s.Quants = []spec.Quant{{Name: "f32", Stock: "f32"}}
	return s
}

// assignment chooses the format of a weight row; where its blocks do not divide
// the columns, the row is float32.
type assignment func(row int) *quant.Format

// interpret compares all dispatches under all profiles.
func interpret(t *testing.T, s *spec.Spec, disable []string, profiles []assignment) {
	t.Helper()
	p, err := gen.Program(s, 1, pass.Options{Disable: disable})
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, disable)
	if err != nil {
		t.Fatal(err)
	}
	// No dispatch names a kernel of a class, so the interpreter has nothing to compare it with.
	b.Kernels = slices.DeleteFunc(b.Kernels, func(k plan.Kernel) bool { return k.Class != "" })
	b.Profiles = nil
	for i, types := range profiles {
		b.Profiles = append(b.Profiles, profile(fmt.Sprint(i), p, types))
	}
	for i := range b.Kernels {
		b.Kernels[i].Variants = nil
	}
	kernel.Variants(b)
	if b.Source, err = msl.Print(b, "// test"); err != nil {
		t.Fatal(err)
	}
	cases := referenceCases(t, b)
	l := launcherOf(t, b, cases, execute.Fast|execute.Small)
	l.compareWithInterpreter(t, p, b)
	l.compareWithReference(t, cases)
}

// compareWithInterpreter compares the kernels of one row: the interpreter has no batches.
func (l *launcher) compareWithInterpreter(t *testing.T, p *ir.Program, b *plan.Bundle) {
	t.Helper()
	for i := range b.Profiles {
		m := &model{t: t, program: p, bundle: b, profile: &b.Profiles[i], launcher: l, random: spectest.Weights{Spec: p.Spec}, tensors: map[string]tensor{}}
		m.run([]int{3, 17, 3, 40, 8})
	}
}

func profile(name string, p *ir.Program, types assignment) plan.Profile {
	profile := plan.Profile{Name: name}
	for i := range p.Weights {
		row, f := &p.Weights[i], types(i)
		if row.F32 || row.Cols%f.BlockElems != 0 {
			f, _ = quant.Lookup(quant.F32)
		}
		profile.Types = append(profile.Types, []quant.Type{f.Type})
	}
	return profile
}

// model is a program with its bundle, under one profile.
type model struct {
	t        *testing.T
	program  *ir.Program
	bundle   *plan.Bundle
	profile  *plan.Profile
	launcher *launcher
	random   spectest.Weights
	tensors  map[string]tensor
	machine  *interp.Machine
	step     plan.Row
}

// tensor is a weight as stored, and its dequantised values.
type tensor struct {
	bytes  []byte
	values []float32
	stride int // rows between batch entries
}

func (m *model) tensor(row, layer int) tensor {
	r := &m.program.Weights[row]
	if r.First < 0 {
		layer = -1
	}
	key := fmt.Sprint(row, " ", layer)
	if have, ok := m.tensors[key]; ok {
		return have
	}
	f, _ := quant.Lookup(m.typeOf(row, layer))
	x := m.random.Tensor(r.Role, layer)
	w := tensor{bytes: make([]byte, len(x)/f.BlockElems*f.BlockBytes), values: make([]float32, len(x))}
	f.Quantize(w.bytes, x)
	f.Dequantize(w.values, w.bytes)
	w.stride = r.Rows
	m.tensors[key] = w
	return w
}

// typeOf is the type of a weight row in a layer.
func (m *model) typeOf(row, layer int) quant.Type {
	return m.profile.At(row, layer-max(m.program.Weights[row].First, 0))
}

// Tensor implements interp.Weights.
func (m *model) Tensor(role string, layer int) []float32 {
	for i := range m.program.Weights {
		if r := &m.program.Weights[i]; r.Role == role && (r.First < 0 || r.Index(layer) >= 0) {
			return m.tensor(i, layer).values
		}
	}
	m.t.Fatalf("no weight %s in layer %d", role, layer)
	return nil
}

// input returns the input vector of a token, or nil if the program has no input.
func (m *model) input(token int) []float64 {
	if m.program.Input == nil {
		return nil
	}
	x := make([]float64, m.program.Input.Len)
	for i := range x {
		x[i] = float64((37*i+11*token)%129-64) / 64 // halves have them all
	}
	return x
}

// run interprets tokens, and compares all dispatches of the last one. Of the first
// it compares those of a cache with a single row.
func (m *model) run(tokens []int) {
	m.t.Helper()
	m.machine = interp.New(m.program, m)
	for pos, token := range tokens {
		if _, err := m.machine.Rows([]interp.Row{{Token: token, Input: m.input(token)}}); err != nil {
			m.t.Fatal(err)
		}
		m.step = plan.Row{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos + 1)}
		for i := range m.bundle.Decode().Dispatches {
			d := dispatch{model: m, Dispatch: &m.bundle.Decode().Dispatches[i], step: m.program.Launches[i], kv: quant.F32}
			d.kernel = &m.bundle.Kernels[d.Kernel]
			cached := slices.ContainsFunc(d.kernel.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceKV })
			if pos == len(tokens)-1 || pos == 0 && cached {
				d.compare()
			}
			if pos == len(tokens)-1 && cached {
				for _, d.kv = range m.bundle.Model.CacheTypes()[1:] {
					d.compare()
				}
			}
		}
	}
}
