package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestVariants: each entry of activations makes a bundle, in the file's order, whose
// name does not depend on the other entries.
func TestVariants(t *testing.T) {
	schema := compileSchema(t)
	for _, tt := range []struct{ line, want string }{
		{"", "my3b f32"},
		{"activations: f32", "my3b f32"},
		{"activations: f16", "my3bf16 f16"},
		{"activations: [f16]", "my3bf16 f16"},
		{"activations: [f32, f16]", "my3b f32, my3bf16 f16"},
		{"activations:\n- f16\n- f32", "my3bf16 f16, my3b f32"},
	} {
		text := strings.Replace(readOK(t), "tokenizer: glm4", tt.line+"\ntokenizer: glm4", 1)
		if err := schema.Validate(yamlValue(t, text)); err != nil {
			t.Errorf("%q: %v", tt.line, err)
		}
		s, err := Parse("specs/My-3B.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%q: %v", tt.line, err)
		}
		var got []string
		for _, v := range s.Variants() {
			got = append(got, v.Name+" "+v.Activations)
			if v.Class != "" {
				t.Errorf("%q: variant %s is for %s", tt.line, v.Name, v.Class)
			}
			if v.File != s.File || v.Hash != s.Hash || v.Model != s.Model || !slices.Equal(v.activations, s.activations) {
				t.Errorf("%q: variant %s differs in more", tt.line, v.Name)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%q: variants %q; want %s", tt.line, got, tt.want)
		}
		if first := s.Name + " " + s.Activations; first != got[0] {
			t.Errorf("%q: Parse returns %s; want the first variant, %s", tt.line, first, got[0])
		}
		if v := s.WithActivations("f16"); v.Name != "my3bf16" || v.Activations != "f16" {
			t.Errorf("%q: with f16 it is %s with %s", tt.line, v.Name, v.Activations)
		}
	}
}

// TestNextNTogether checks that the variants of a model and of its multi-token prediction layer are paired,
// in both directions, and have the same activations and class.
func TestNextNTogether(t *testing.T) {
	s, err := Load("../../specs/more/glm47flashmtp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.Main != nil {
		t.Error("a model that is a layer")
	}
	as := func(s *Spec) *Spec {
		v := s.WithActivations("f16").WithClass(plan.ClassNVIDIA).WithSequences(1, 4)
		tuning := v.Tuning
		tuning.MatVec.Simdgroups = 2
		if v, err = v.WithTuning(tuning); err != nil {
			t.Fatal(err)
		}
		return v
	}
	layer := as(s.NextNLayer())
	for _, v := range []*Spec{as(s), layer} {
		both := v.OneSource()
		if len(both) != 2 || both[0].Name != "glm47flashmtpf16nvidia" || both[1].Name != "glm47flashmtpnextnf16nvidia" || both[0] != v && both[1] != v {
			t.Fatalf("with %s go %d, first %s", v.Name, len(both), both[0].Name)
		}
		for _, o := range both {
			if o.Activations != "f16" || o.Class != plan.ClassNVIDIA || !reflect.DeepEqual(o.Tuning, layer.Tuning) || !slices.Equal(o.Widths(), []int{1, 4}) {
				t.Errorf("%s, with %s: %s, for %q, %d rows", o.Name, v.Name, o.Activations, o.Class, o.Widths())
			}
		}
		if m := both[0].Model; m.NumHiddenLayers != 47 || both[1].Model.NumHiddenLayers != 1 {
			t.Errorf("layers: %d and %d", m.NumHiddenLayers, both[1].Model.NumHiddenLayers)
		}
	}
	if s.Model.NumNextNPredictLayers = 0; len(s.OneSource()) != 1 {
		t.Error("a model without the layer goes with another")
	}
}
