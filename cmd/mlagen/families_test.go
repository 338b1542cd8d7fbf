package main

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/interp"
	"mla/gen/lower"
	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/gen/synth"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// families is how many times TestFamilies goes through all stock types.
var families = flag.Int("families", 2, "models per quant profile in TestFamilies")

// familyTolerance bounds the difference of logits near 1 between float32 sums
// of up to a few thousand terms, some layers deep, and the interpreter's in
// float64. The weights of both are the same dequantised blocks.
const familyTolerance = 1e-4

// TestFamilies runs mlagen init, mlagen -spec and mlarun on small models of all families in all stock types,
// as a user does with a model file without a spec. The logits are compared with the interpreter of the model
// that the file was made from.
func TestFamilies(t *testing.T) {
	profiles, times := familyProfiles(), *families
	if !deep.On {
		times = 1
	}
	for seed := range uint64(times * len(profiles)) {
		s, profile := spectest.Family(seed), profiles[seed%uint64(len(profiles))]
		t.Run(fmt.Sprintf("%d %s", seed, profile), func(t *testing.T) {
			compareFile(t, synthFile(t, s, profile, seed), s)
		})
	}
}

// familyProfiles are the stock types, also with an importance matrix and in
// the old layout where that makes a difference.
func familyProfiles() []string {
	profiles := quantmix.Names()
	return append(profiles, "q4_0 imatrix", "iq4_xs imatrix", "f32 legacy_kv_b", "bf16 legacy_kv_b", "q8_0 legacy_kv_b", "q4_k_m legacy_kv_b")
}

// TestLiteLayers has models of as many layers as DeepSeek-V2-Lite and its
// relatives, whose files are read without q_lora_rank.
func TestLiteLayers(t *testing.T) {
	for _, layers := range []int{26, 27} {
		s := small(deepseek(t))
		s.Model.NumHiddenLayers, s.Model.QLoraRank = layers, 0
		f := loadModel(t, synthFile(t, s, "q4_k_m", 1))
		f.set("attention.q_lora_rank", gguf.Uint32(64)) // there, but wrong
		compareFile(t, f.write(t), s)
		f.drop("attention.q_lora_rank")
		compareFile(t, f.write(t), s)
	}
}

// deepseek and glm are models of one family that have experts from layer one
// dense layer.
func deepseek(t *testing.T) *spec.Spec { return family(t, "deepseek-llm") }
func glm(t *testing.T) *spec.Spec      { return family(t, "glm4") }

func family(t *testing.T, tokenizer string) *spec.Spec {
	t.Helper()
	for seed := range uint64(1000) {
		s := spectest.Family(seed)
		if s.Tokenizer == tokenizer && s.MoE.FirstKDenseReplace == 1 && s.MoE.NGroup == 1 && s.MoE.NSharedExperts > 0 {
			return s
		}
	}
	t.Fatalf("no seed gives a model of %s's family", tokenizer)
	return nil
}

// small reduces a model to widths that keep many layers quick.
func small(s *spec.Spec) *spec.Spec {
	m := &s.Model
	m.HiddenSize, m.NumAttentionHeads, m.KVLoraRank, m.QKNopeHeadDim, m.QKRopeHeadDim, m.VHeadDim = 64, 2, 32, 32, 16, 32
	m.IntermediateSize, s.MoE.MoEIntermediateSize = 64, 32
	return s
}

func synthFile(t *testing.T, s *spec.Spec, profile string, seed uint64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := synth.Write(t.Context(), s, profile, path, seed); err != nil {
		t.Fatal(err)
	}
	return path
}

// compareFile makes a spec and a bundle from the header of a file alone and
// compares the logits with those of the model that the file should hold.
func compareFile(t *testing.T, path string, truth *spec.Spec) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := bundleOf(t, f)
	worst, err := compareLogits(f, b, truth)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Logf("largest difference %.1e", worst)
	}
}

// bundleOf is mlagen init and mlagen -spec in one.
func bundleOf(t *testing.T, f *gguf.File) *plan.Bundle {
	t.Helper()
	text, err := initspec.Generate(f, "specs/file.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("specs/file.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// compareLogits returns the largest difference over a short prompt; it is an
// error if it is above the tolerance.
func compareLogits(f *gguf.File, b *plan.Bundle, truth *spec.Spec) (worst float64, err error) {
	if b, err = bind.Resolve(f).Choose([]*plan.Bundle{b}, bind.Wish{}); err != nil {
		return 0, err
	}
	if bind.Resolve(f).Profile(b) == "" {
		return 0, fmt.Errorf("the bundle has no profile with exactly the file's types")
	}
	model, err := bind.Resolve(f).Bind(b)
	if err != nil {
		return 0, err
	}
	r, err := device.LoadSingle(cpu.New(), model, device.Config{Context: 32, KV: quant.F32, Threads: 2})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	m := interp.New(lower.Lower(truth, 1), &fileWeights{file: f, spec: truth})
	for pos, token := range []int{3, 17, 3, 240, 8, 21, 5, 260, 1, 17} {
		want, err := m.Step(token)
		if err != nil {
			return 0, err
		}
		got, err := r.Replay([]plan.Row{{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos) + 1}}, device.All(1))
		if err != nil {
			return 0, err
		}
		for i := range want {
			d := math.Abs(want[i] - float64(got[i]))
			if !(d <= familyTolerance) {
				return d, fmt.Errorf("position %d, logit %d: %g, want %g", pos, i, got[i], want[i])
			}
			worst = max(worst, d)
		}
	}
	return worst, nil
}
