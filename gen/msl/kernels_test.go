package msl_test

import (
	"testing"

	"mla/gen/msl/execute"
	"mla/generated"
	"mla/runtime/device/check"
	"mla/runtime/plan"
)

// launcher runs kernels on the executor. It is a check.Launcher.
type launcher struct {
	program *execute.Program
	buffers []*execute.Buffer // by slot, used again and again
	seed    uint64            // of the order of threadgroups
}

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
	return &launcher{program: program}
}

// Launch implements check.Launcher.
func (l *launcher) Launch(c *check.Launch) error {
	return l.run(c.Variant.Func, c.Groups, c.Threads, c.Buffers)
}

// run runs a kernel function on data, one buffer per slot, in place. Nothing
// accessible follows a buffer's last byte.
func (l *launcher) run(function string, groups, threads int, data [][]byte) error {
	l.seed++
	launch := execute.Launch{Kernel: function, Groups: groups, Threads: threads, Seed: l.seed}
	for slot, d := range data {
		if slot == len(l.buffers) {
			l.buffers = append(l.buffers, nil)
		}
		if b := l.buffers[slot]; b == nil || len(b.Bytes) < len(d) {
			b, err := l.program.NewBuffer(2 * len(d))
			if err != nil {
				return err
			}
			l.buffers[slot] = b
		}
		b := l.buffers[slot]
		at := (len(b.Bytes) - len(d)) &^ 15
		copy(b.Bytes[at:], d)
		launch.Args = append(launch.Args, execute.Arg{Buffer: b, Offset: at, Size: len(d)})
	}
	err := l.program.Run(launch)
	for slot, a := range launch.Args {
		copy(data[slot], a.Buffer.Bytes[a.Offset:])
	}
	return err
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
