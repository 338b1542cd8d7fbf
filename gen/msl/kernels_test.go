package msl_test

import (
	"testing"

	"mla/gen/msl/execute"
	"mla/generated"
	"mla/runtime/device/check"
	"mla/runtime/plan"
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
			newLauncher(t, b.Source, checks).compareWithTwins(t, b)
		})
	}
}

func (l *launcher) compareWithTwins(t *testing.T, b *plan.Bundle) {
	t.Helper()
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		if r := cases[i].Check(l); !r.OK() {
			t.Error(r.Problem())
		}
	}
}
