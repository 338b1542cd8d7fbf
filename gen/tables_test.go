package gen_test

import (
	"reflect"
	"testing"

	"mla/gen"
	"mla/gen/gentest"
	"mla/gen/golang"
	"mla/generated"
	"mla/runtime/plan"
)

// TestTables checks that the generated tables, when expanded, equal the compiler's bundles completely.
func TestTables(t *testing.T) {
	for _, b := range generated.Bundles() {
		v, err := gentest.Variant("../specs", b)
		if err != nil {
			t.Fatal(err)
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
