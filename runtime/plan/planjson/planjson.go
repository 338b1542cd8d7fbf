// Package planjson writes bundles as JSON and reads them back. It follows the types of
// runtime/plan by reflection, so that nothing of them is written twice:
//
//   - a struct is an object of its fields, without those that have their zero value;
//   - a part (plan.Part) is an object with one key, the name of its type;
//   - an enumeration is its number, a quantisation type the id that GGUF gives it.
//
// What it reads is untrusted. Unknown and repeated keys, numbers that a field cannot hold,
// and text after the end are errors, and no text makes it allocate more than [MaxMemory].
// It does not look at what the numbers mean: that is for package verify.
package planjson

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"mla/runtime/plan"
)

// MaxMemory bounds what a text may become, in bytes; some hundred times what the largest
// bundle has.
const MaxMemory = 1 << 28

// parts are the types that a plan.Part can be, by name.
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

// Schema is the sha256 of a description of all types that bundles are made of. A text of
// another schema is of another version of the program: it may read, but mean another
// thing.
func Schema() string {
	var text strings.Builder
	s := &schema{text: &text, seen: map[reflect.Type]bool{}}
	s.describe(reflect.TypeFor[plan.Bundle]())
	hash := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(hash[:])
}

// schema writes types, each once; the types of its fields follow it.
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
