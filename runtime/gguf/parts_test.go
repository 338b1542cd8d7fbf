package gguf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/quant"
)

// TestParts checks that parts of two quantisations are refused, and that mixes of one quantisation are not.
func TestParts(t *testing.T) {
	roles := []string{"attn_q_a", "attn_q_b", "attn_output", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}
	uniform := func(typ quant.Type) []quant.Type {
		list := make([]quant.Type, len(roles))
		for i := range list {
			list[i] = typ
		}
		return list
	}
	mixed := func(down quant.Type) []quant.Type {
		list := uniform(quant.Q4_K)
		list[2], list[5] = down, down
		return list
	}
	experts := func(gate, up, down quant.Type) []quant.Type {
		return []quant.Type{quant.Q8_0, quant.Q8_0, quant.Q8_0, gate, up, down}
	}
	alike := func(typ quant.Type) []quant.Type { return experts(typ, typ, typ) }
	for _, c := range []struct {
		name string
		of   [3][]quant.Type // by part, the types of its two layers' weights
		want string
	}{
		{"one quantisation", [3][]quant.Type{uniform(quant.Q4_0), uniform(quant.Q4_0), uniform(quant.Q4_0)}, ""},
		{"a mix", [3][]quant.Type{mixed(quant.Q6_K), mixed(quant.Q4_K), mixed(quant.Q6_K)}, ""},
		{"not quantised", [3][]quant.Type{uniform(quant.BF16), uniform(quant.F16), uniform(quant.BF16)}, ""},
		{"another's part", [3][]quant.Type{uniform(quant.Q4_0), uniform(quant.Q8_0), uniform(quant.Q4_0)},
			"m-00001-of-00003.gguf and "},
		{"experts of another", [3][]quant.Type{alike(quant.Q3_K), alike(quant.Q2_K), alike(quant.Q3_K)}, "type Q3_K in the first and Q2_K in the second, and other experts"},
		{"experts of another at the end", [3][]quant.Type{experts(quant.IQ2_XXS, quant.IQ2_XXS, quant.IQ3_S), experts(quant.IQ2_XXS, quant.IQ2_XXS, quant.IQ3_S),
			experts(quant.Q3_K, quant.Q3_K, quant.Q5_K)}, "type IQ3_S in the first and Q5_K in the second"},
		{"experts of another whose last weight falls back alike", [3][]quant.Type{experts(quant.Q3_K, quant.Q3_K, quant.Q4_0), experts(quant.Q2_K, quant.Q2_K, quant.Q4_0),
			experts(quant.Q3_K, quant.Q3_K, quant.Q4_0)}, "type Q3_K in the first and Q2_K in the second"},
		{"a part for every kind of layer", [3][]quant.Type{alike(quant.Q4_K), alike(quant.Q3_K), alike(quant.Q5_K)}, ""},
		{"more bits for one weight of some layers", [3][]quant.Type{experts(quant.Q3_K, quant.Q3_K, quant.Q5_K), alike(quant.Q3_K), alike(quant.Q3_K)}, ""},
		{"another's last part", [3][]quant.Type{mixed(quant.Q6_K), mixed(quant.Q4_K), uniform(quant.Q8_0)}, "type Q6_K in the first and Q8_0 in the second"},
		{"mixed:the kind of layer changes within a part", [3][]quant.Type{alike(quant.Q4_K), alike(quant.Q3_K), alike(quant.Q3_K)}, ""},
	} {
		dir := t.TempDir()
		for part, types := range c.of {
			var tensors []TensorInfo
			for layer := 2 * part; layer < 2*part+2; layer++ {
				if layer == 1 && strings.HasPrefix(c.name, "mixed:") {
					types = c.of[1]
				}
				tensors = append(tensors, TensorInfo{fmt.Sprintf("blk.%d.attn_norm.weight", layer), quant.F32, []uint64{256}})
				for i, role := range roles {
					tensors = append(tensors, TensorInfo{fmt.Sprintf("blk.%d.%s.weight", layer, role), types[i], []uint64{256, 2}})
				}
			}
			writeFile(t, filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", part+1)), splitKeys(part, 3, 6*(len(roles)+1)), tensors)
		}
		f, err := Open(filepath.Join(dir, "m-00002-of-00003.gguf"))
		if c.want != "" {
			wantError(t, err, c.want, "parts of different quantisations")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
