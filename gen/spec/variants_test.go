package spec

import (
	"slices"
	"strings"
	"testing"
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
