//go:build metal

package metal_test

import (
	"errors"
	"os"
	"testing"

	"mla/generated"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/check"
	"mla/runtime/quant"
)

// TestSystem runs the device on the system's own Metal, or on what MLA_METAL_LIB
// names, in this process. make test-metal runs it.
func TestSystem(t *testing.T) {
	lib := os.Getenv("MLA_METAL_LIB")
	d, err := metal.Open(metal.Options{Library: lib})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", d.Info)
	ways := []metal.Replay{metal.ReplayEncode}
	if !d.Virtual {
		ways = append(ways, metal.ReplayICB)
	}
	for _, how := range ways {
		t.Run(string(how), func(t *testing.T) {
			if err := d.SelfTest(how); err != nil {
				t.Fatal(err)
			}
			for _, run := range []func(string) error{
				logits("youtu-tiny-F32", quant.F32, 1e-3, how),
				logits("youtu-tiny-legacykvb-F32", quant.F32, 1e-3, how),
				logits("glm47-tiny-Q4_0", quant.F16, 0.05, how),
			} {
				if err := run(lib); err != nil {
					t.Error(err)
				}
			}
			systemKernels(t, lib, how)
		})
	}
	if d.ResidencySets {
		if err := d.ResidencyBuffers(); err != nil {
			t.Errorf("residency set with buffers: %v", err)
		}
	}
	if d.ResidencySets && !d.Virtual {
		if err := d.ResidencyIndirect(); err != nil {
			t.Errorf("residency set with an ICB: %v", err)
		}
		if err := d.ResidencyPipelines(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("residency set with pipelines: %v", err)
		}
	}
}

// systemKernels compares every kernel of the small bundles with its reference. The doctor does this for all
// bundles.
func systemKernels(t *testing.T, lib string, how metal.Replay) {
	d, err := metal.Open(metal.Options{Library: lib, Replay: how})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range generated.Bundles() {
		if b.Model.HiddenSize > 512 {
			continue
		}
		if err := d.Runs(b); err != nil {
			t.Log(err)
			continue
		}
		l, err := d.NewLauncher(b, b.Functions())
		if err != nil {
			t.Fatal(err)
		}
		cases, err := check.Cases(b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range cases {
			if r := cases[i].Check(l); !r.OK() {
				t.Errorf("%s: %s", b.Name, r.Problem())
			}
		}
		l.Close()
	}
}
