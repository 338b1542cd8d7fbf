package msl_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/generated"
	"mla/runtime/device/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// launcher runs kernels on the executor. It is a check.Launcher.
type launcher struct{ *execute.Copies }

func newLauncher(t *testing.T, source string, c execute.Checks) *launcher {
	t.Helper()
	program, err := execute.Compile(source, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	})
	return &launcher{program.Copies()}
}

// Launch implements check.Launcher.
func (l *launcher) Launch(c *check.Launch) error {
	return l.Run(c.Variant.Func, c.Groups, c.Threads, c.Buffers)
}

// large says that a bundle is of real width; its kernels run with fewer checks.
func large(b *plan.Bundle) bool { return b.Model.HiddenSize > 512 }

// own is a bundle as TestKernels runs it. Of one for a class of devices that is the
// kernels that the bundle for any device does not have: a kernel's text follows from
// what the plan says of it and the type of activations, so the others run there.
func own(t *testing.T, b *plan.Bundle) *plan.Bundle {
	t.Helper()
	general := b.In("", generated.Bundles())
	if general == nil || general == b {
		return b
	}
	less := *b
	less.Kernels, less.Decode, less.Sample = nil, nil, nil
	for i, k := range b.Kernels {
		first := slices.IndexFunc(b.Decode, func(d plan.Dispatch) bool { return d.Kernel == i })
		if first < 0 || slices.ContainsFunc(general.Kernels, func(g plan.Kernel) bool { return reflect.DeepEqual(g, k) }) {
			continue
		}
		d := b.Decode[first]
		d.Kernel = len(less.Kernels)
		less.Kernels, less.Decode = append(less.Kernels, k), append(less.Decode, d)
	}
	var err error
	if less.Source, err = msl.Print(&less, "// test"); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(less.Source, "\n")
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "//: ") && !strings.Contains(b.Source, line+"\n") {
			t.Fatalf("%s has no line %q", b.Name, line)
		}
	}
	return &less
}

// TestKernels runs every variant of every kernel that ships and compares all
// memory with what the Go twins leave.
func TestKernels(t *testing.T) {
	for _, b := range generated.Bundles() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			checks := execute.Checked
			if large(b) {
				checks = execute.Fast
			}
			b := own(t, b)
			newLauncher(t, b.Metal(), checks).compareWithTwins(t, b)
		})
	}
}

func (l *launcher) compareWithTwins(t *testing.T, b *plan.Bundle) {
	t.Helper()
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	cases = thin(cases)
	for i := range cases {
		if r := cases[i].Check(l); !r.OK() {
			t.Error(r.Problem())
		}
	}
}

// thin leaves of the kernels of several rows, which take sixteen times as long, the first
// variant of each and one with each type: what a format does is the same in all of them.
func thin(cases []check.Case) []check.Case {
	seen := map[quant.Type]bool{}
	return slices.DeleteFunc(cases, func(c check.Case) bool {
		if c.Kernel.Width == 0 || c.Variant == &c.Kernel.Variants[0] {
			return false
		}
		news := slices.ContainsFunc(c.Variant.Types, func(t quant.Type) bool { return !seen[t] })
		for _, t := range c.Variant.Types {
			seen[t] = true
		}
		return !news
	})
}
