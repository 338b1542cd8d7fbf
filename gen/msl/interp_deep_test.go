//go:build deep

package msl_test

import (
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/gentest"
	"mla/gen/msl/execute"
	"mla/gen/pass"
	"mla/generated"
	"mla/runtime/doctor/check"
)

// TestShippedInterpreter compares every dispatch of the small bundles that ship, under
// each of their profiles, with the op interpreter.
func TestShippedInterpreter(t *testing.T) {
	for _, b := range generated.Bundles() {
		if large(b) {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			v, err := gentest.Variant("../../specs", b)
			if err != nil {
				t.Fatal(err)
			}
			p, err := gen.Program(v, 1, pass.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cases := slices.DeleteFunc(referenceCases(t, b), func(c check.Case) bool { return c.Kernel.Width > 0 })
			launcherOf(t, b, cases, execute.Fast|execute.Small).compareWithInterpreter(t, p, b)
		})
	}
}
