package gen

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/plan/verify"
)

// TestUnknownKernelInTuning checks that the message about an unknown kernel has its position in the file,
// although only the compiler, not the parser, has the names of kernels.
func TestUnknownKernelInTuning(t *testing.T) {
	text, err := os.ReadFile("../specs/yoututiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(text), "\n")
	tests := []struct {
		kernel  string
		disable []string
		want    string
	}{
		{"lm_head", nil, ""},
		{"lm_hed", nil, `:5: unknown kernel in tuning "lm_hed" (did you mean "lm_head"?)`},
		{"down_residual", []string{"fuse_residual"}, ""}, // names are others then
		{"down_x4", nil, ""},
		{"down_x3", nil, ":5: kernel down_x3 in tuning: no sequence of 3 rows has a shape for down in tuning"},
		{"down_x16", nil, ":5: kernel down_x16 in tuning: no sequence of 16 rows has a shape for down in tuning"}, // products of matrices
		{"dwn_x4", nil, `gate_up, down, lm_head, combine`},
	}
	for _, tt := range tests {
		s, err := spec.Parse("dir/x.yaml", []byte(string(text)+"tuning:\n  kernels:\n    "+tt.kernel+": {simdgroups: 2}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Compile(s, tt.disable)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.kernel, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "dir/x.yaml:") || !strings.HasSuffix(err.Error(), tt.want)):
			t.Errorf("%s: %v; expected a message that ends in %q", tt.kernel, err, tt.want)
		case tt.want != "" && err.(spec.ErrorList)[0].Line != lines+3:
			t.Errorf("%s: line %d; expected %d", tt.kernel, err.(spec.ErrorList)[0].Line, lines+3)
		}
	}
}

// TestUnroll: how much of a row a kernel has under way goes from the spec to the plan
// and to the source; the default is not written.
func TestUnroll(t *testing.T) {
	text, err := os.ReadFile("../specs/yoututiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for tuning, want := range map[string]int{"": 0, "{unroll: 4}": 0, "{unroll: 1}": 1, "{unroll: 8}": 8} {
		line := "tuning: {kernels: {lm_head: " + tuning + "}}\n"
		if tuning == "" {
			line = ""
		}
		s, err := spec.Parse("x.yaml", []byte(string(text)+line))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Compile(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := b.Kernels[b.Decode().Dispatches[b.Decode().Head].Kernel]
		dot := fmt.Sprintf("%du>(loaded_w, w, ", cmp.Or(want, plan.DefaultUnroll))
		_, body, _ := strings.Cut(b.Source, "static inline void lm_head_body(")
		if p := k.Parts[0].(*plan.MatVec); k.Name != "lm_head" || p.Unroll != want || !strings.Contains(body, dot) {
			t.Errorf("%q: %s has %d blocks under way; want %d, and %q", tuning, k.Name, p.Unroll, want, dot)
		}
	}
}

// TestOneSource: a model and its multi-token prediction layer have one source, also where their
// kernels of one name differ, as the heads do if the model's is tied to its embedding. It
// has each kernel once, and all that either bundle names.
func TestOneSource(t *testing.T) {
	for name, change := range map[string]func(s *spec.Spec){
		"as it is": func(*spec.Spec) {},
		"tied":     func(s *spec.Spec) { s.Model.TieWordEmbeddings = true },
	} {
		s, err := spec.Load("../specs/more/glm47flashmtp.yaml")
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		s = s.WithClass(target.MetalClass).WithSequences(1, 16)
		var both []*plan.Bundle
		for _, v := range []*spec.Spec{s, s.NextNLayer()} {
			b, err := Compile(v, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			both = append(both, b)
		}
		model, layer := both[0], both[1]
		if model.Source != layer.Source || model.Name == layer.Name {
			t.Errorf("%s: bundles %s and %s, sources of %d and %d bytes", name, model.Name, layer.Name, len(model.Source), len(layer.Source))
		}
		head := layer.Kernels[layer.Decode().Dispatches[layer.Decode().Head].Kernel].Name
		if own := name == "tied"; own != (head == "lm_head_2") || own == (head == "lm_head") || layer.Weights[len(layer.Weights)-1].Kernel != head {
			t.Errorf("%s: the layer's head is %s, its weights are read by %s", name, head, layer.Weights[len(layer.Weights)-1].Kernel)
		}
		source := pieces.Parse(model.Source)
		for _, b := range both {
			cut, err := source.Cut(b.Functions())
			if n := strings.Count(cut, "kernel void "); err != nil || n != len(b.Functions()) {
				t.Errorf("%s: %d kernels of %s; expected %d (%v)", name, n, b.Name, len(b.Functions()), err)
			}
		}
		files, err := Generate(s, "x", both, nil, nil)
		if n := len(files); err != nil || n != 5 || files[4].Name != "glm47flashmtpapple.metal" {
			t.Errorf("%s: %d files (%v)", name, n, err)
		}
	}
}

// TestLatentPrompt: rows that are more than a batch's, and too few to expand heads, attend to
// latent rows in splits, each for itself, as a batch's do.
func TestLatentPrompt(t *testing.T) {
	s, err := spec.Load("../specs/glm47mini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Compile(s.WithSequences(1, 40), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Bundle(b); err != nil {
		t.Fatal(err)
	}
	splits := 0
	for _, d := range b.Sequences[1].Dispatches {
		for _, p := range b.Kernels[d.Kernel].Parts {
			switch p := p.(type) {
			case *plan.Attend:
				splits = p.Splits.Count
			case *plan.AttendHeads:
				t.Fatal("40 rows expand heads")
			}
		}
	}
	if want := target.For("").Attention().Splits / 40; splits != want {
		t.Errorf("%d splits; want %d", splits, want)
	}
}
