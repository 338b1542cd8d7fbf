package bind

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Dimensions of the test model: two layers, the second with experts.
const (
	vocab, hidden, heads     = 8, 32, 2
	latent, nope, rope, vdim = 32, 32, 4, 64
	ff, experts, expertFF    = 64, 3, 32
)

// testBundle is a bundle without kernels that allows F32 and Q8_0 everywhere.
func testBundle(name string) *plan.Bundle {
	b := &plan.Bundle{Name: name, Model: plan.Model{
		Architecture: "deepseek2",
		Dims: plan.Dims{VocabSize: vocab, HiddenSize: hidden, NumHiddenLayers: 2, NumAttentionHeads: heads, KVLoraRank: latent,
			QKNopeHeadDim: nope, QKRopeHeadDim: rope, VHeadDim: vdim, IntermediateSize: ff, MaxPositionEmbeddings: 64,
			RMSNormEps: 1e-6, TieWordEmbeddings: true},
		Rope: plan.Rope{Theta: 10000, Factor: 1, AttnFactor: 1},
		MoE: plan.MoE{NRoutedExperts: experts, NumExpertsPerTok: 2, NSharedExperts: 1, MoEIntermediateSize: expertFF,
			FirstKDenseReplace: 1, ScoringFunc: "sigmoid", SelectionBias: true, NormTopKProb: true, RoutedScalingFactor: 1.8},
	}}
	add := func(first, last int, role, gguf, alt string, cols, rows, batch int) {
		types := []quant.Type{quant.F32, quant.Q8_0}
		if rows == 1 {
			types = types[:1]
		}
		b.Weights = append(b.Weights, plan.Weight{Role: role, GGUF: gguf, Alt: alt, Cols: cols, Rows: rows, Batch: batch,
			First: first, Last: last, Types: types})
	}
	const kvb, gateUp = "blk.%d.attn_kv_b.weight", "blk.%d.ffn_gate_up_exps.weight"
	add(-1, 0, "embed_tokens", "token_embd.weight", "", hidden, vocab, 1)
	add(0, 2, "input_layernorm", "blk.%d.attn_norm.weight", "", hidden, 1, 1)
	add(0, 2, "self_attn.k_b_proj", "blk.%d.attn_k_b.weight", kvb, nope, latent, heads)
	add(0, 2, "self_attn.v_b_proj", "blk.%d.attn_v_b.weight", kvb, latent, vdim, heads)
	add(1, 2, "mlp.gate.e_score_correction_bias", "blk.%d.exp_probs_b.bias", "", experts, 1, 1)
	add(1, 2, "mlp.experts.gate_proj", "blk.%d.ffn_gate_exps.weight", gateUp, hidden, expertFF, experts)
	add(1, 2, "mlp.experts.up_proj", "blk.%d.ffn_up_exps.weight", gateUp, hidden, expertFF, experts)
	return b
}

// testFile is a file in the making that fits testBundle.
type testFile struct {
	keys    map[string]gguf.Value
	tensors []gguf.TensorInfo
}

func newFile() *testFile {
	f := &testFile{keys: map[string]gguf.Value{}}
	f.keys["general.architecture"] = gguf.String("deepseek2")
	for key, n := range map[string]uint32{
		"block_count": 2, "context_length": 64, "embedding_length": hidden, "feed_forward_length": ff,
		"attention.head_count": heads, "attention.q_lora_rank": 0, "attention.kv_lora_rank": latent,
		"attention.key_length": latent + rope, "attention.value_length": latent,
		"attention.key_length_mla": nope + rope, "attention.value_length_mla": vdim, "rope.dimension_count": rope,
		"expert_feed_forward_length": expertFF, "expert_shared_count": 1, "expert_count": experts, "expert_used_count": 2,
		"leading_dense_block_count": 1, "expert_gating_func": 2,
	} {
		f.set(key, gguf.Uint32(n))
	}
	f.set("attention.layer_norm_rms_epsilon", gguf.Float32(1e-6))
	f.set("expert_weights_scale", gguf.Float32(1.8))
	f.set("expert_weights_norm", gguf.Bool(true))
	b := testBundle("")
	for i := range b.Weights {
		w := &b.Weights[i]
		for l := range w.Layers() {
			f.add(layerName(w.GGUF, w, l), quant.F32, shape(w)...)
		}
	}
	return f
}

func (f *testFile) set(key string, v gguf.Value) { f.keys["deepseek2."+key] = v }

func (f *testFile) add(name string, typ quant.Type, shape ...int) {
	info := gguf.TensorInfo{Name: name, Type: typ}
	for _, d := range shape {
		info.Dims = append(info.Dims, uint64(d))
	}
	f.tensors = append(f.tensors, info)
}

func (f *testFile) remove(part string) {
	f.tensors = slices.DeleteFunc(f.tensors, func(t gguf.TensorInfo) bool { return strings.Contains(t.Name, part) })
}

func (f *testFile) retype(part string, typ quant.Type) {
	for i := range f.tensors {
		if strings.Contains(f.tensors[i].Name, part) {
			f.tensors[i].Type = typ
		}
	}
}

// legacy replaces k_b and v_b with attn_kv_b, as before April 2025.
func (f *testFile) legacy(typ quant.Type) {
	f.remove("attn_k_b")
	f.remove("attn_v_b")
	for l := range 2 {
		f.add(fmt.Sprintf("blk.%d.attn_kv_b.weight", l), typ, latent, heads*(nope+vdim))
	}
	delete(f.keys, "deepseek2.attention.key_length_mla")
	f.set("attention.key_length", gguf.Uint32(nope+rope))
	f.set("attention.value_length", gguf.Uint32(vdim))
}

// open writes the file with random weights and opens it.
func (f *testFile) open(t *testing.T) *gguf.File {
	t.Helper()
	var meta []gguf.KV
	for key, v := range f.keys {
		meta = append(meta, gguf.KV{Key: key, Value: v})
	}
	path := filepath.Join(t.TempDir(), "My model-Q8_0.gguf")
	w, err := gguf.NewWriter(path, meta, f.tensors)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, info := range f.tensors {
		format := mustLookup(info.Type)
		n := 1
		for _, d := range info.Dims {
			n *= int(d)
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		data := make([]byte, n/format.BlockElems*format.BlockBytes)
		format.Quantize(data, values)
		if err := w.WriteTensor(info.Name, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

// values decodes a whole tensor.
func values(t *testing.T, f *gguf.File, name string) []float32 {
	t.Helper()
	tensor, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("no tensor %q", name)
	}
	out := make([]float32, tensor.Elems())
	mustLookup(tensor.Type).Dequantize(out, tensor.Data)
	return out
}

func equal(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
