package main

import (
	"slices"
	"testing"

	"mla/gen/interp"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// lowBits are the types below four bits, and NVFP4, without scales of tensors and with them.
var lowBits = []quant.Type{quant.Q3_K, quant.Q2_K, quant.IQ3_XXS, quant.IQ3_S, quant.IQ2_XXS, quant.IQ2_XS, quant.IQ2_S,
	quant.IQ1_S, quant.IQ1_M, quant.TQ1_0, quant.TQ2_0, quant.Q1_0, quant.Q2_0, quant.NVFP4, quant.NVFP4Scaled}

// lowBitsWidths are the numbers of rows that run in one batch: one, some, a batch's, and those of a prompt.
var lowBitsWidths = []int{1, 3, 16, 512}

// lowBitsTolerance is the tolerance of kernels that multiply each float as a sum of two halves: 21 of the 24
// bits of a product are exact. For the CPU device it is familyTolerance.
const lowBitsTolerance = 5e-4

// TestLowBits does the same as TestFamilies for types of fewer than four bits, in every tensor whose rows are
// whole blocks, with several rows in one batch.
func TestLowBits(t *testing.T) {
	types := lowBits
	if !deep.On {
		types = lowBits[:1]
	}
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			path, ref := lowBitsFile(t, typ)
			m := compileFor(t, path, "f32", 1, 16, 512)
			compareWidths(t, cpu.New(), m, ref, lowBitsWidths, familyTolerance)
			if deep.On && typ == quant.Q3_K { // TestLowBitsMixed has the others: a prompt's kernels take minutes to compile
				compareWidths(t, newExecutor(t), m, ref, lowBitsWidths, lowBitsTolerance)
			}
		})
	}
}

// lowBitsFile writes a model with matrices of some types, in turns, and returns the logits that the
// interpreter has for it.
func lowBitsFile(t *testing.T, typs ...quant.Type) (path string, ref *reference.Reference) {
	t.Helper()
	s := glm(t)
	s.Model.HiddenSize, s.Model.IntermediateSize, s.Model.NumHiddenLayers, s.Model.QLoraRank = 256, 256, 2, 256
	s.MoE.MoEIntermediateSize = 256
	q := spec.Quant{Name: "low", Stock: "q8_0"}
	for _, row := range weights.Table(s) {
		typ := typs[len(q.Types)%len(typs)]
		if !row.F32 && row.Cols%formatOf(t, typ).BlockElems == 0 {
			q.Types = append(q.Types, spec.RoleTypes{Role: row.Role, Types: slices.Repeat([]quant.Type{typ}, row.Layers())})
		}
	}
	if len(q.Types) < max(8, len(typs)) {
		t.Fatalf("%d weights have these types", len(q.Types))
	}
	s.Quants = append(s.Quants, q)
	path = synthFile(t, s, q.Name, uint64(typs[0]))
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
