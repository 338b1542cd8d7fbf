// Package gentest gives tests the compiled bundles as the compiler makes them.
package gentest

import (
	"fmt"
	"path/filepath"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// Printed is a bundle of the program with its Metal source. Where only the hash of that is
// kept, the source is printed from the bundle's spec in a folder, and must have the hash.
func Printed(specs string, b *plan.Bundle) (*plan.Bundle, error) {
	if b.HasSource() == nil {
		return b, nil
	}
	v, err := Variant(specs, b)
	if err != nil {
		return nil, err
	}
	made, err := gen.Compile(v, nil)
	if err != nil {
		return nil, err
	}
	if sum := made.SourceSum(); sum != b.SourceHash {
		return nil, fmt.Errorf("bundle %s is of another source (%s) than is printed now (%s); run go generate ./... first", b.Name, b.SourceHash, sum)
	}
	whole := *b
	whole.Source, whole.SourceHash = made.Source, ""
	return &whole, nil
}

// Variant is the one of b's spec, which is in a folder, that b was compiled from.
func Variant(specs string, b *plan.Bundle) (*spec.Spec, error) {
	s, err := spec.Load(filepath.Join(specs, b.Spec))
	if err != nil {
		return nil, err
	}
	for _, v := range s.Variants() {
		if v.Name == b.Name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%s makes no bundle %s", s.File, b.Name)
}
