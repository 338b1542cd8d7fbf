package msl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mla/gen/gentest"
	"mla/gen/golang"
	"mla/gen/msl"
	"mla/gen/msl/frontend"
	"mla/gen/target"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/tools/tests/deep"
)

// printed is a bundle with its Metal source.
func printed(t *testing.T, b *plan.Bundle) *plan.Bundle {
	t.Helper()
	whole, err := gentest.Printed("../../specs", b)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// oneLarge is the bundle of real width that the fast tier parses.
const oneLarge = "glm47flashapple"

// TestGenerated checks that the Metal source of every bundle parses, and that the repository has no other source
// files. It parses the source once for bundles that differ in activations alone. Most sources are parsed in the
// oldest version of the language only. The newest version has another prelude and a larger standard library:
// TestWholeLibrary, TestFrontEnd and the fast tier's bundles cover it.
func TestGenerated(t *testing.T) {
	names := map[string]string{} // by source
	for _, b := range generated.Bundles() {
		if deep.On || !large(b) {
			b = printed(t, b)
		}
		if names[b.Source] != "" {
			continue
		}
		names[b.Source] = b.Name
		check := frontend.Check
		if b.Name != oneLarge && !slices.Contains(fastBundles, b.Name) {
			if !deep.On {
				continue
			}
			check = frontend.CheckOldest
		}
		if err := check(b.Source, target.For(b.Class).Memory().Bytes); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
	}
	files, err := filepath.Glob("../../generated/*/*" + golang.SourceSuffix)
	if err != nil {
		t.Fatal(err)
	}
	library, err := msl.Library()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := library.Whole(string(text)); err != nil || names[whole] == "" {
			t.Errorf("%s is of no bundle (%v)", file, err)
		}
	}
}

// TestCuts parses the part of every bundle's source that a device compiles, for every profile of the bundle's
// spec. No declaration that these kernels need may be missing. Bundles that differ only in activations have
// one source and the same parts, so each text is parsed once.
func TestCuts(t *testing.T) {
	var parsed sync.Map
	for _, b := range generated.Bundles() {
		if !deep.On && large(b) {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			source := pieces.Parse(printed(t, b).Source)
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
				if err := frontend.CheckOldest(cut, target.For(b.Class).Memory().Bytes); err != nil {
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
