// Package gentest gives tests the compiled bundles with their Metal sources.
package gentest

import (
	"fmt"
	"path/filepath"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// Printed returns a bundle of the program with its Metal source. If the program has only the hash of the
// source, the source is printed again from the bundle's spec in folder specs, and must have the hash.
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

// Variant returns the variant, of b's spec in folder specs, that b was compiled from.
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
