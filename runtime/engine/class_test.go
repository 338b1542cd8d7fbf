package engine_test

import (
	"path/filepath"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
)

// classed is a device of a given class.
type classed struct {
	device.Device
	class string
}

func (d classed) Class() string { return d.class }

// TestClass checks that a device runs the bundle of its class.
func TestClass(t *testing.T) {
	all := slices.Clone(generated.Bundles())
	own := *all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "yoututiny" })]
	own.Name, own.Class = "yoututinynvidia", plan.ClassNVIDIA
	all = append(all, &own)
	for class, want := range map[string]string{"": "yoututiny", plan.ClassApple: "yoututiny", plan.ClassNVIDIA: own.Name} {
		e, err := opening.On(filepath.Join(references, "youtu-tiny-F32.gguf"), all, "", classed{cpu.New(), class})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Bundle().Name; got != want {
			t.Errorf("a device of class %q runs %s; want %s", class, got, want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
