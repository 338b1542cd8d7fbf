package opening_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// gpu is the CPU device as a device of another class.
type gpu struct{ device.Device }

func (gpu) Class() string { return plan.ClassNVIDIA }

type overflow struct{ error }

func (overflow) Overflow() bool { return true }

// TestHalves checks that a GPU runs half-precision activations if the bundle has kernels for them, the file's
// numbers allow it, and the user asks for no other type. Otherwise it checks the note that says why not.
func TestHalves(t *testing.T) {
	refuses := func(act plan.Elem, err error) func(device.Device, *bind.Resolved, *plan.Bundle) error {
		return func(_ device.Device, _ *bind.Resolved, b *plan.Bundle) error {
			if b.Activations == act {
				return err
			}
			return nil
		}
	}
	lacks := func(b *plan.Bundle) error { return refuses(plan.ElemF16, errBad)(nil, nil, b) }
	both := generated.Bundles()
	floats := slices.DeleteFunc(slices.Clone(both), func(b *plan.Bundle) bool { return b.Activations != plan.ElemF32 })
	const file = "../../../testdata/reference/youtu-mini-Q4_0.gguf"
	for name, tt := range map[string]struct {
		options      opening.Options
		candidate    opening.Candidate
		bundles      []*plan.Bundle
		want         string
		said, detail string
	}{
		"by default":      {bundles: both, want: "youtuminif16"},
		"exact":           {options: opening.Options{Exact: true}, bundles: both, want: "youtumini"},
		"asked for":       {options: opening.Options{Act: "f32"}, bundles: both, want: "youtumini"},
		"by name":         {options: opening.Options{Bundle: "youtumini"}, bundles: both, want: "youtumini"},
		"no kernels":      {bundles: floats, want: "youtumini", detail: "no kernels with f16"},
		"lacks them":      {candidate: opening.Candidate{Lacks: lacks}, bundles: both, want: "youtumini", detail: "no kernels with f16"},
		"refuses numbers": {candidate: opening.Candidate{Refuses: refuses(plan.ElemF16, overflow{errBad})}, bundles: both, want: "youtumini", said: "goes on with f32", detail: "have left the range"},
		"refuses halves":  {candidate: opening.Candidate{Refuses: refuses(plan.ElemF16, errBad)}, bundles: both, want: "youtumini on the CPU"},
		"refuses all":     {candidate: opening.Candidate{Refuses: func(device.Device, *bind.Resolved, *plan.Bundle) error { return overflow{errBad} }}, bundles: both, want: "youtumini on the CPU", said: "goes on with f32"},
	} {
		t.Run(name, func(t *testing.T) {
			var said, detail []string
			o := tt.options
			o.File = func(device.Device) (*gguf.File, error) { return gguf.Open(file) }
			o.Bundles = &bundles.Finder{Program: tt.bundles}
			o.Cache = t.TempDir()
			o.Say, o.Detail = func(line string) { said = append(said, line) }, func(line string) { detail = append(detail, line) }
			tt.candidate.Open = func() (device.Device, error) { return gpu{cpu.New()}, nil }
			o.Devices = []opening.Candidate{tt.candidate, {Open: func() (device.Device, error) { return cpu.New(), nil }}}
			for i := range 2 { // it is kept
				e, err := opening.Open(o)
				if err != nil {
					t.Fatal(err)
				}
				got := e.Bundle().Name
				if e.Device().Class() == "" {
					got += " on the CPU"
				}
				if err := errors.Join(e.Close()); err != nil || got != tt.want {
					t.Errorf("time %d: %s, %v; want %s", i+1, got, err, tt.want)
				}
			}
			if text := strings.Join(said, ""); (text != "") != (tt.said != "") || strings.Count(text, tt.said) > 1 && tt.said != "" {
				t.Errorf("said %q; want %q once", said, tt.said)
			}
			if !strings.Contains(strings.Join(detail, ""), tt.detail) {
				t.Errorf("details %q; want %q", detail, tt.detail)
			}
		})
	}
}
