package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"mla/gen/interp"
	"mla/gen/ir"
	"mla/gen/kernel"
	"mla/gen/lower"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// compileF32 compiles a spec for plain float32 weights, without the Metal source.
func compileF32(t *testing.T, s *spec.Spec, disable []string) (*ir.Program, *plan.Bundle) {
	t.Helper()
	p := lower.Lower(s, 1)
	if err := pass.Compile(p, pass.Options{Disable: disable}); err != nil {
		t.Fatal(err)
	}
	m := &s.Model
	act := plan.ElemF32
	if s.Activations == "f16" {
		act = plan.ElemF16
	}
	b := &plan.Bundle{Name: s.Name, Activations: act, Weights: kernel.WeightTable(p.Weights), Model: plan.Model{Dims: plan.Dims{VocabSize: m.VocabSize, HiddenSize: m.HiddenSize, NumHiddenLayers: m.NumHiddenLayers, NumAttentionHeads: m.NumAttentionHeads, KVLoraRank: m.KVLoraRank,
		QKRopeHeadDim: m.QKRopeHeadDim, MaxPositionEmbeddings: m.MaxPositionEmbeddings}}}
	if s.MoE != nil {
		b.Model.MoE = plan.MoE{NRoutedExperts: s.MoE.NRoutedExperts, NumExpertsPerTok: s.MoE.NumExpertsPerTok}
	}
	profile := plan.Profile{Name: "f32"}
	for range b.Weights {
		profile.Types = append(profile.Types, []quant.Type{quant.F32})
	}
	b.Profiles = []plan.Profile{profile}
	if err := kernel.Select(p, b); err != nil {
		t.Fatal(err)
	}
	kernel.Variants(b)
	return p, b
}

// bindRandom binds a bundle to spectest's weights.
func bindRandom(b *plan.Bundle, w *spectest.Weights) *device.Model {
	m := &device.Model{Bundle: b}
	for _, row := range b.Weights {
		var tensors []device.Weight
		for l := max(row.First, 0); l < max(row.Last, 1); l++ {
			data := floatBytes(w.Tensor(row.Role, layerOf(&row, l)))
			tensors = append(tensors, device.Weight{Tensor: row.Role, Region: len(m.Regions), Bytes: int64(len(data)),
				Type: quant.F32, BatchStride: int64(4 * row.Rows * row.Cols)})
			m.Regions = append(m.Regions, data)
		}
		m.Weights = append(m.Weights, tensors)
	}
	return m
}

func layerOf(row *plan.Weight, l int) int {
	if row.First < 0 {
		return -1
	}
	return l
}

func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// TestReplay compares the CPU device with the interpreter of the unfused
// program, with all fusions, with each one switched off, and with none.
func TestReplay(t *testing.T) {
	var none []string
	for _, ps := range pass.Pipeline {
		if !ps.Required {
			none = append(none, ps.Name)
		}
	}
	sets := [][]string{nil, none}
	for _, name := range none {
		sets = append(sets, []string{name})
	}
	for seed := uint64(100); seed < 113; seed++ {
		if !deep.On && seed > 100 && seed < 112 {
			continue
		}
		s := spectest.Random(seed)
		if seed == 112 {
			s = spectest.As("plm", s)
		}
		for i, disable := range sets {
			if i > 1 && seed > 104 {
				break // each single fusion on a few models is enough
			}
			// float32 sums over a few hundred terms, three layers deep, on logits near 1.
			if err := compareReplay(t, s, disable, 1e-4); err != nil {
				t.Errorf("seed %d without %v: %v", seed, disable, err)
			}
		}
	}
}

// TestReplayHalf does the same with activations in half between kernels; the
// interpreter rounds at the same points of the same fused program.
func TestReplayHalf(t *testing.T) {
	last := uint64(208)
	if !deep.On {
		last = 202
	}
	for seed := uint64(200); seed < last; seed++ {
		s := spectest.Random(seed)
		s.Activations = "f16"
		// A float32 sum that falls on the other side of a rounding boundary moves
		// an activation by 2^-11 of itself; a few of those reach the logits.
		if err := compareReplay(t, s, nil, 5e-3); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func compareReplay(t *testing.T, s *spec.Spec, disable []string, tolerance float64) error {
	w := &spectest.Weights{Spec: s}
	p, b := compileF32(t, s, disable)
	r, err := device.LoadSingle(cpu.New(), bindRandom(b, w), device.Config{Context: 32, KV: quant.F32, Threads: 2})
	if err != nil {
		return err
	}
	defer r.Close()
	if s.Activations != "f16" {
		p = lower.Lower(s, 1) // the unfused definition
	}
	m := interp.New(p, w)
	for pos, token := range []int{3, 17, 3, 40, 8, 21, 5, 60, 1} {
		want, err := m.Step(token)
		if err != nil {
			return err
		}
		got, err := r.Replay([]plan.Row{{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos) + 1}}, device.All(1))
		if err != nil {
			return err
		}
		for i := range want {
			if !(math.Abs(want[i]-float64(got[i])) <= tolerance) {
				return fmt.Errorf("position %d, logit %d: %g, want %g", pos, i, got[i], want[i])
			}
		}
	}
	return nil
}
