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

// same compares the fields that two structs have in common, by name, and
// returns how many those are.
func same(t *testing.T, got, want any) (n int) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		name := g.Type().Field(i).Name
		f := w.FieldByName(name)
		if !f.IsValid() || f.Kind() != g.Field(i).Kind() || f.Kind() == reflect.Struct {
			continue
		}
		n++
		if !g.Field(i).Equal(f) {
			t.Errorf("%T.%s is %v, the spec has %v", got, name, g.Field(i), f)
		}
	}
	return n
}

// TestModel: the bundle's model says what the spec says, field by field.
func TestModel(t *testing.T) {
	next := 0
	s := &spec.Spec{MoE: &spec.MoE{}, Architecture: "c", Tokenizer: "a", ChatTemplate: "b", NextN: 9}
	s.Rope.Scaling = &spec.Yarn{}
	for _, part := range []any{&s.Model, s.MoE, &s.Rope, s.Rope.Scaling} {
		fill(reflect.ValueOf(part).Elem(), &next)
	}
	m := model(s)
	for _, c := range []struct {
		got, want any
		fields    int
	}{{m, s.Model, 13}, {m.MoE, *s.MoE, reflect.TypeFor[plan.MoE]().NumField()}, {m.Rope, *s.Rope.Scaling, 3}, {m, *s, 4}} {
		if n := same(t, c.got, c.want); n != c.fields {
			t.Errorf("%T: %d fields in common, expected %d", c.got, n, c.fields)
		}
	}
	if s.Temperature = (plan.Temperature{Scale: 0.5, Length: 7}); model(s).Temperature != s.Temperature {
		t.Errorf("temperature %+v", model(s).Temperature)
	}
	if !m.Rope.Yarn || m.Rope.Theta != s.Rope.Theta || m.Rope.OriginalContext != s.Rope.Scaling.OriginalMaxPositionEmbeddings {
		t.Errorf("rope %+v", m.Rope)
	}
	s.MoE, s.Rope.Scaling = nil, nil
	if m := model(s); m.MoE != (plan.MoE{}) || m.Rope != (plan.Rope{Theta: s.Rope.Theta, Factor: 1, AttnFactor: 1}) {
		t.Errorf("dense, without scaling: %+v", m)
	}
}
