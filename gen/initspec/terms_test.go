package initspec

import (
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/gguf"
)

// TestTerms checks that messages about models for which no kernels can be compiled use the metadata keys of
// the file.
func TestTerms(t *testing.T) {
	const glm, ling = "glm47-tiny-Q4_0", "../hybrid/bailingmoe3-mini-Q4_0"
	for _, c := range []struct {
		file string
		edit func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo)
		want string
	}{
		{glm, func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			// A key of 64 elements, 48 of them rotated.
			meta = set(meta, "deepseek2.rope.dimension_count", gguf.Uint32(48))
			meta = set(meta, "deepseek2.attention.key_length", gguf.Uint32(64+48))
			return meta, tensors
		}, `key "deepseek2.rope.dimension_count" is 48, but the rest of a key, (key "deepseek2.attention.key_length_mla" less "rope.dimension_count"), has only 16`},
		{glm, func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return set(meta, "deepseek2.expert_used_count", gguf.Uint32(16)), tensors
		}, ""},
		{ling, func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return set(meta, "bailingmoe3.kda.head_dim", gguf.Uint32(16)), tensors
		}, `key "bailingmoe3.kda.head_dim" is 16; expected a multiple of 32`},
		{ling, func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return set(meta, "bailingmoe3.expert_shared_feed_forward_length", gguf.Uint32(40)), tensors
		}, `key "bailingmoe3.expert_shared_feed_forward_length" is 40; expected a multiple of 32`},
	} {
		f, err := gguf.Open(edited(t, reference+c.file+".gguf", c.edit))
		if err != nil {
			t.Fatal(err)
		}
		h, err := gguf.ReadHParams(f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := fromHParams(&h)
		if err != nil {
			t.Fatal(err)
		}
		s.Model.Title, s.ChatTemplate, s.Quants = "x", "none", []spec.Quant{{Name: "q4_0", Stock: "q4_0"}}
		s.Tuning.Attention.Simdgroups = target.For("").Attention().Simdgroups
		text, err := format(s, "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = parsed(f, &h, "x.yaml", text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "x.yaml")) {
			t.Errorf("%v; want %s", err, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
