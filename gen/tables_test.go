package gen_test

import (
	"reflect"
	"testing"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/spec"
	"mla/generated"
	"mla/runtime/plan"
)

// TestTables: what the generated tables are when they are expanded is what the compiler
// made, all of it.
func TestTables(t *testing.T) {
	specs := map[string]*spec.Spec{}
	for _, b := range generated.Bundles() {
		if specs[b.Spec] == nil {
			s, err := spec.Load("../specs/" + b.Spec)
			if err != nil {
				t.Fatal(err)
			}
			specs[b.Spec] = s
		}
		v := specs[b.Spec].WithActivations(b.Act()).WithClass(b.Class)
		if b.Model.NextN > 0 {
			v = v.NextNLayer()
		}
		want, err := gen.Compile(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = golang.Kept(want)
		got, fields := reflect.ValueOf(*b), reflect.TypeFor[plan.Bundle]()
		for i := range fields.NumField() {
			if !reflect.DeepEqual(got.Field(i).Interface(), reflect.ValueOf(*want).Field(i).Interface()) {
				t.Errorf("%s: %s is not what the compiler makes", b.Name, fields.Field(i).Name)
			}
		}
	}
}
