package msl_test

import (
	"strings"
	"sync"
	"testing"

	"mla/gen/msl/frontend"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

// TestCuts parses what a device is given of every bundle, for every profile of the
// bundle's spec: nothing that these kernels need may be missing. Bundles whose activations
// alone differ have one source, and so the same cuts: a text is parsed once.
func TestCuts(t *testing.T) {
	var parsed sync.Map
	for _, b := range generated.Bundles() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			source := pieces.Parse(b.Source)
			for i := range b.Profiles {
				functions := needs(t, b, i)
				cut, err := source.Cut(functions)
				if err != nil {
					t.Fatalf("%s: %v", b.Profiles[i].Name, err)
				}
				if n := strings.Count(cut, "kernel void "); n != len(functions) {
					t.Errorf("%s: %d kernels; expected %d", b.Profiles[i].Name, n, len(functions))
				}
				if _, before := parsed.LoadOrStore(cut, true); before {
					continue
				}
				if err := frontend.Check(cut); err != nil {
					t.Errorf("%s: %v", b.Profiles[i].Name, err)
				}
			}
		})
	}
}

// needs are the functions for profile i, with each type of the cache, and on devices of
// either kernel class, in turn.
func needs(t *testing.T, b *plan.Bundle, i int) []string {
	t.Helper()
	types := b.Model.CacheTypes()
	kv := types[i%len(types)]
	class := []string{"", plan.ClassApple7}[i/2%2]
	functions, err := reference.Profile(b, &b.Profiles[i]).Functions(device.Config{KV: kv}, class)
	if err != nil {
		t.Fatal(err)
	}
	return functions
}

// TestSingleKernels parses every kernel of one bundle by itself: what it needs must not
// be there by the luck of another's need.
func TestSingleKernels(t *testing.T) {
	for _, b := range generated.Bundles() {
		if b.Name != "glm47mini" && b.Name != "dsv2liteminitailsf16" {
			continue
		}
		source := pieces.Parse(b.Source)
		for _, f := range b.Functions() {
			t.Run(b.Name+"/"+f, func(t *testing.T) {
				t.Parallel()
				cut, err := source.Cut([]string{f})
				if err == nil {
					err = frontend.Check(cut)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
