package main

import (
	"testing"

	"mla/gen/interp"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/reference"
	"mla/runtime/gguf"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// lowBits are the types below four bits, and NVFP4. One with a code book is executed as Metal text in the fast
// tier, the others in the deep one.
var lowBits = []struct {
	quant.Type
	executed bool
}{
	{quant.Q3_K, false}, {quant.Q2_K, false}, {quant.IQ3_XXS, true}, {quant.IQ3_S, false}, {quant.IQ2_XXS, false}, {quant.IQ2_XS, false},
	{quant.IQ2_S, false}, {quant.IQ1_S, false}, {quant.IQ1_M, false}, {quant.TQ1_0, false}, {quant.TQ2_0, false},
	{quant.Q1_0, false}, {quant.Q2_0, false}, {quant.NVFP4, false},
}

// lowBitsWidths are the numbers of rows that run together: one, some, a batch's, and those of a prompt.
var lowBitsWidths = []int{1, 3, 16, 512}

// lowBitsTolerance is that of floats which kernels multiply as sums of two halves each: 21 bits of a product's
// 24 are left. The CPU's is familyTolerance.
const lowBitsTolerance = 5e-4

// TestLowBits does for files of the types below four bits, wherever rows are whole blocks of them, what
// TestFamilies does for the stock types, with rows that run together.
func TestLowBits(t *testing.T) {
	executor := newExecutor(t)
	for _, c := range lowBits {
		t.Run(c.Type.String(), func(t *testing.T) {
			path, ref := lowBitsFile(t, c.Type)
			m := compileFor(t, path, "f32", 1, 16, 512)
			compareWidths(t, cpu.New(), m, ref, lowBitsWidths, familyTolerance)
			if deep.On {
				compareWidths(t, executor, m, ref, lowBitsWidths, lowBitsTolerance)
			} else if c.executed { // kernels of prompts take minutes
				few := &reference.Reference{Prompt: ref.Prompt[:3], Logits: ref.Logits[:3*ref.Vocab], Vocab: ref.Vocab}
				compareWidths(t, executor, compileFor(t, path, "f32"), few, []int{2}, lowBitsTolerance)
			}
		})
	}
}

// lowBitsFile writes a model with matrices of a type, and returns the logits that the interpreter has for it.
func lowBitsFile(t *testing.T, typ quant.Type) (path string, ref *reference.Reference) {
	t.Helper()
	s := glm(t)
	s.Model.HiddenSize, s.Model.IntermediateSize, s.Model.NumHiddenLayers, s.Model.QLoraRank = 256, 256, 2, 256
	s.MoE.MoEIntermediateSize = 256
	q, format := spec.Quant{Name: "low", Stock: "q8_0"}, formatOf(t, typ)
	for _, row := range weights.Table(s) {
		if !row.F32 && row.Cols%format.BlockElems == 0 {
			types := make([]quant.Type, row.Layers())
			for i := range types {
				types[i] = typ
			}
			q.Types = append(q.Types, spec.RoleTypes{Role: row.Role, Types: types})
		}
	}
	if len(q.Types) < 8 {
		t.Fatalf("%d weights have the type", len(q.Types))
	}
	s.Quants = append(s.Quants, q)
	path = synthFile(t, s, q.Name, uint64(typ))
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ref = &reference.Reference{Vocab: s.Model.VocabSize}
	m := interp.New(lower.Lower(s, 1), &fileWeights{file: f, spec: s})
	for i := range 20 {
		token := int32(1 + i*37%250)
		logits, err := m.Step(int(token))
		if err != nil {
			t.Fatal(err)
		}
		ref.Prompt = append(ref.Prompt, token)
		for _, v := range logits {
			ref.Logits = append(ref.Logits, float32(v))
		}
	}
	return path, ref
}

func formatOf(t *testing.T, typ quant.Type) *quant.Format {
	t.Helper()
	f, ok := quant.Lookup(typ)
	if !ok {
		t.Fatalf("no format %s", typ)
	}
	return f
}

func compareWidths(t *testing.T, d device.Device, m *device.Model, ref *reference.Reference, widths []int, tolerance float64) {
	t.Helper()
	for _, width := range widths {
		worst, err := ref.Batches(d, m, device.Config{KV: quant.F32, Threads: 2}, width)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d rows: logits within %.2g", d.Name(), width, worst)
		if !(worst <= tolerance) {
			t.Errorf("%s, up to %d rows: logits differ by %g; at most %g is allowed", d.Name(), width, worst, tolerance)
		}
	}
}
