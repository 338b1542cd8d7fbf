package gen

import (
	"reflect"
	"testing"

	"mla/gen/spec"
	"mla/runtime/plan"
)

// fill gives every field of a struct another value, zero nowhere.
func fill(v reflect.Value, next *int) {
	for i := range v.NumField() {
		*next++
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(*next))
		case reflect.Float64:
			f.SetFloat(float64(*next))
		case reflect.String:
			f.SetString("text" + string(rune('a'+*next%26)))
		case reflect.Bool:
			f.SetBool(true)
		}
	}
}

// TestModel checks that the bundle's model agrees with the spec, field by field.
func TestModel(t *testing.T) {
	next := 0
	s := &spec.Spec{MoE: &spec.MoE{}, Architecture: "c", Tokenizer: "a", ChatTemplate: "b", NextN: 9}
	s.Rope.Scaling = &spec.Yarn{}
	for _, part := range []any{&s.Model.Dims, s.MoE, &s.Rope, s.Rope.Scaling} {
		fill(reflect.ValueOf(part).Elem(), &next)
	}
	m := model(s)
	y := s.Rope.Scaling
	rope := plan.Rope{Theta: s.Rope.Theta, Yarn: true, Factor: y.Factor, OriginalContext: y.OriginalMaxPositionEmbeddings, MScaleAllDim: y.MScaleAllDim, AttnFactor: y.AttnFactor}
	want := plan.Model{Architecture: "c", Dims: s.Model.Dims, Rope: rope, MoE: *s.MoE, Tokenizer: "a", ChatTemplate: "b", NextN: 9}
	if m != want {
		t.Errorf("got %+v, want %+v", m, want)
	}
	if s.Temperature = (plan.Temperature{Scale: 0.5, Length: 7}); model(s).Temperature != s.Temperature {
		t.Errorf("temperature %+v", model(s).Temperature)
	}
	s.MoE, s.Rope.Scaling = nil, nil
	if m := model(s); m.MoE != (plan.MoE{}) || m.Rope != (plan.Rope{Theta: s.Rope.Theta, Factor: 1, AttnFactor: 1}) {
		t.Errorf("dense, without scaling: %+v", m)
	}
}
