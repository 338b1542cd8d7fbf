// Package planjson writes bundles as JSON and reads them back. It follows the types of runtime/plan by
// reflection, so no field is listed here:
//
//   - a struct is an object of its fields, without those that have their zero value;
//   - a part (plan.Part) is an object with one key, the name of its type;
//   - an enumeration is its number, a quantisation type the id that GGUF gives it.
//
// The input is untrusted. Unknown and repeated keys, numbers out of a field's range, and text after the end
// are errors. No input makes it allocate more than [MaxMemory]. The meaning of the numbers is checked by
// package verify, not here.
package planjson

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"mla/runtime/plan"
)

// MaxMemory bounds the memory of a decoded text, in bytes. It is some hundred times what the largest bundle
// needs.
const MaxMemory = 1 << 28

// parts maps names to the types that implement plan.Part.
var parts = map[string]reflect.Type{}

func init() {
	for _, p := range []plan.Part{
		&plan.MatVec{}, &plan.Experts{}, &plan.ExpertsSum{}, &plan.StoreKV{}, &plan.Attend{}, &plan.Embed{},
		&plan.NormVec{}, &plan.RopeVec{}, &plan.CombineVec{}, &plan.SwiGLUVec{}, &plan.AddVec{}, &plan.RouteVec{},
		&plan.WeightedSum{}, &plan.ExpandHeads{}, &plan.AttendHeads{}, &plan.RouteBatch{}, &plan.GroupExperts{},
		&plan.GatherVec{}, &plan.DeltaHeads{}, &plan.DeltaVectors{}, &plan.DeltaColumns{}, &plan.DeltaChunks{}, &plan.DeltaFold{}, &plan.GatedNormVec{}, &plan.GateHeads{}, &plan.ScanPicks{}, &plan.PickTokens{},
	} {
		t := reflect.TypeOf(p).Elem()
		parts[t.Name()] = t
	}
}

var partType = reflect.TypeFor[plan.Part]()

// Schema is the sha256 of a description of all types of a bundle. A text with another schema comes from
// another version of the program. It might decode without an error, but mean something else.
func Schema() string {
	var text strings.Builder
	s := &schema{text: &text, seen: map[reflect.Type]bool{}}
	s.describe(reflect.TypeFor[plan.Bundle]())
	hash := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(hash[:])
}

// schema writes each type once, followed by the types of its fields.
type schema struct {
	text *strings.Builder
	seen map[reflect.Type]bool
}

func (s *schema) describe(t reflect.Type) {
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	switch {
	case t == partType:
		for _, name := range sortedParts() {
			s.describe(parts[name])
		}
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Pointer:
		s.describe(t.Elem())
	case t.Kind() == reflect.Struct:
		fmt.Fprintf(s.text, "%s {", t.Name())
		for i := range t.NumField() {
			fmt.Fprintf(s.text, " %s %s;", t.Field(i).Name, t.Field(i).Type)
		}
		s.text.WriteString(" }\n")
		for i := range t.NumField() {
			s.describe(t.Field(i).Type)
		}
	}
}
