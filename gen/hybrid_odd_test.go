package gen_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/interp"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/gen/synth"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestOddHybrids checks models with shapes that no known file has, with random weights. Their logits must be those of
// the formulas in float64, for several numbers of rows and for each class whose kernels the CPU device runs.
func TestOddHybrids(t *testing.T) {
	for what, change := range map[string]func(s *spec.Spec){
		"heads of a width that is no power of two": func(s *spec.Spec) {
			s.Model.NumAttentionHeads, s.Hybrid.HeadDim, s.Hybrid.FullAttnLayers = 3, 96, []int{0, 2}
		},
		"limits of dense layers": func(s *spec.Spec) { s.Hybrid.SharedLimits = []float64{0.02, 0.01, 0.9, 0} },
		"all experts used": func(s *spec.Spec) {
			s.MoE.NGroup, s.MoE.TopKGroup, s.MoE.NumExpertsPerTok = 1, 1, s.MoE.NRoutedExperts
		},
		"no experts": func(s *spec.Spec) {
			s.MoE, s.Hybrid.Limits, s.Hybrid.SharedLimits = nil, nil, nil // moe_shared_expert_intermediate_size stays
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := specOf(t, filepath.Join("..", "testdata", "hybrid", "bailingmoe3-mini-Q4_K_M.gguf"))
			change(s)
			path := filepath.Join(t.TempDir(), "odd.gguf")
			if err := synth.Write(t.Context(), s, s.Quants[0].Name, path, 1); err != nil {
				t.Fatal(err)
			}
			compareOdd(t, path)
		})
	}
}

// TestExtremeHybrids checks the logits against float64 for extreme weights: states that decay at once or never, and
// keys that are zero.
func TestExtremeHybrids(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareOdd(t, rewritten(t, filepath.Join("..", "testdata", "hybrid", name+".gguf"), func(_ *gguf.File, tensor *gguf.Tensor) *gguf.Tensor {
				n := len(tensor.Data) / 4
				switch {
				case strings.HasSuffix(tensor.Name, ".ssm_dt.bias"):
					edited(tensor, func(i int, _ float32) float32 { return []float32{80, -120, 0}[i%3] })
				case strings.HasSuffix(tensor.Name, ".ssm_a"):
					edited(tensor, func(i int, x float32) float32 { return x * []float32{1, 0, 50, 1e-6}[i] })
				case strings.HasSuffix(tensor.Name, ".ssm_conv1d_k.weight"):
					edited(tensor, func(i int, x float32) float32 {
						if i < n/4 { // the channels of the first head
							return 0
						}
						return x
					})
				}
				return tensor
			}))
		})
	}
}

// edited replaces each number x of a float32 tensor, at index i, by change(i, x).
func edited(tensor *gguf.Tensor, change func(i int, x float32) float32) {
	data := make([]byte, 0, len(tensor.Data))
	for i := range len(tensor.Data) / 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(tensor.Data[4*i:]))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(change(i, x)))
	}
	tensor.Data = data
}

// compareOdd checks that the CPU device has the logits of the float64 program of a hybrid model file.
func compareOdd(t *testing.T, path string) {
	t.Helper()
	var tokens []int32
	for i := range int32(40) {
		tokens = append(tokens, i*i%300)
	}
	want := lowered(t, path, tokens)
	for _, class := range []string{"", plan.ClassApple} {
		e, err := opening.On(path, []*plan.Bundle{hybridOf(t, path, class)}, "", cpu.New())
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1, 3, 16, 512} {
			m, err := e.Load(device.Config{Context: len(tokens), KV: quant.F32, Width: width, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.NewPrivateSession()
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 3, 20, len(tokens)} {
				if err := s.Sync(context.Background(), tokens[:n], nil); err != nil {
					t.Fatal(err)
				}
				// The tolerance is the rounding error of float32 sums. It is largest for the first token, whose norms divide
				// by the smallest numbers.
				if off := reference.Difference(s.Logits(), want[n-1]); !(off <= 1e-4) {
					t.Errorf("class %q, %d rows at a time: logits %d differ by %.2g", class, width, n, off)
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// lowered returns the logits after each token, by the lowered program in float64, before any pass.
func lowered(t *testing.T, path string, tokens []int32) (logits [][]float32) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, path)
	w, err := spectest.Read(f, s)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	m := interp.New(lower.Lower(s, 1), w)
	for _, token := range tokens {
		row, err := m.Step(int(token))
		if err != nil {
			t.Fatal(err)
		}
		floats := make([]float32, len(row))
		for i, x := range row {
			floats[i] = float32(x)
		}
		logits = append(logits, floats)
	}
	return logits
}
