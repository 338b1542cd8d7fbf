package synth

import (
	"testing"

	"mla/gen/spec"
	"mla/generated"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
)

// header is a file of a model's real shapes without the data of its tensors.
func header(t testing.TB, name, profile string) *gguf.File {
	t.Helper()
	s, err := spec.Load("../../specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	q, err := findProfile(s, profile)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata(s, q)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := list(s, q)
	if err != nil {
		t.Fatal(err)
	}
	infos := make([]gguf.TensorInfo, len(tensors))
	for i := range tensors {
		infos[i] = tensors[i].info
	}
	head, size, err := gguf.EncodeHeader(meta, infos)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.ParseHeader(name+".gguf", head, size)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// BenchmarkChoose looks at a file once and chooses among all bundles of the project: the goal is
// about 1 ms.
func BenchmarkChoose(b *testing.B) {
	all := generated.Bundles()
	for _, of := range []struct{ name, profile string }{{"glm47flash", "q4_0"}, {"glm47flash", "q4_k_m"}, {"deepseekv2lite", "q4_k_m legacy_kv_b"}, {"youtu2b", "q8_0"}} {
		f := header(b, of.name, of.profile)
		b.Run(of.name+" "+of.profile, func(b *testing.B) {
			for b.Loop() {
				r := bind.Resolve(f)
				chosen, err := r.Choose(all, bind.Wish{})
				if err != nil || r.Profile(chosen) == "" {
					b.Fatal(chosen, err)
				}
			}
		})
	}
}

// TestLingChosen: the header of a file of Ling-3.0-tiny leads to the bundle that ships, with its types.
func TestLingChosen(t *testing.T) {
	for _, profile := range []string{"q4_0", "q4_k_m", "q8_0"} {
		r := bind.Resolve(header(t, "ling3tiny", profile))
		for act, name := range map[string]string{"f32": "ling3tiny", "f16": "ling3tinyf16"} {
			b, err := r.Choose(generated.Bundles(), bind.Wish{Act: act})
			if err != nil || b.Name != name || r.Profile(b) != profile {
				t.Errorf("%s, %s: %v; expected %s", profile, act, err, name)
			}
		}
	}
}
