//go:build deep

package msl_test

import (
	"testing"

	"mla/gen/msl/frontend"
	"mla/gen/target"
	"mla/generated"
	"mla/runtime/plan/pieces"
)

// TestSingleKernels parses every kernel of one bundle by itself. It must not depend on functions that the
// source contains only because another kernel needs them.
func TestSingleKernels(t *testing.T) {
	for _, b := range generated.Bundles() {
		if b.Name != "glm47mini" && b.Name != "dsv2liteminif16" {
			continue
		}
		source := pieces.Parse(b.Source)
		for _, f := range b.Functions() {
			t.Run(b.Name+"/"+f, func(t *testing.T) {
				t.Parallel()
				cut, err := source.Cut([]string{f})
				if err == nil {
					err = frontend.Check(cut, target.For(b.Class).Memory().Bytes)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
