//go:build linux

// Package endtoend_test runs the built mlarun on the Metal simulator, as a user does, and checks its output
// and that it released everything.
package endtoend_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mla/gen/objects"
	"mla/sim/metal/library"
)

const root = "../../../"

// machine is a system that runs mlarun, perhaps under an emulator.
type machine struct {
	prefix      []string // of command lines: an emulator
	mlarun, lib string
	files       string // a folder for what programs write
}

// host is the machine of the tests.
var host *machine

func TestMain(m *testing.M) { os.Exit(tests(m)) }

func tests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "endtoend")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	os.Setenv(objects.Variable, objects.Folder()) // programs of these tests have no other folder of the user's
	if host, err = build(folder, runtime.GOARCH); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes mlarun and the simulator for an architecture.
func build(folder, arch string) (*machine, error) {
	m := &machine{mlarun: filepath.Join(folder, "mlarun-"+arch), files: folder}
	cmd := exec.Command("go", "build", "-o", m.mlarun, "mla/cmd/mlarun")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	var err error
	m.lib, err = library.Build(root, arch)
	return m, err
}

// outcome is the result of running a program.
type outcome struct {
	err         error
	out, stderr string
	left        counts
}

// counts are the numbers of struct Counts in sim/metal/src/report.h, which the simulator writes at the end of
// the program.
type counts struct{ Objects, Pools, InFlight, Made, Commits uint64 }

// clean returns an error unless every object was released.
func (c counts) clean() error {
	switch {
	case c.Made == 0 || c.Commits == 0:
		return fmt.Errorf("nothing ran: %+v", c)
	case c.Objects != 0 || c.Pools != 0 || c.InFlight != 0:
		return fmt.Errorf("left at the end: %d objects, %d autorelease pools, %d command buffers in flight", c.Objects, c.Pools, c.InFlight)
	}
	return nil
}

// metal runs a command of mlarun on the simulator, with NAME=VALUE settings.
func (m *machine) metal(t *testing.T, settings, args []string) outcome {
	t.Helper()
	return m.watched(t, settings, args, func(*os.Process) {})
}

// watched is metal that calls wrote with the process whenever it has written to its
// standard output.
func (m *machine) watched(t *testing.T, settings, args []string, wrote func(*os.Process)) (o outcome) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	settings = append([]string{"METALSIM_STRICT=1", "METALSIM_REPORT=" + report}, settings...)
	args = append(args, "-device", "metal", "-metal-lib", m.lib)
	if !slices.Contains(args, "-replay") {
		args = append(args, "-replay", "icb") // auto runs the simulator in two processes, which would share the report
	}
	if !slices.Contains(args, "-act") {
		args = append(args, "-act", "f32") // as on the CPU, with which it is compared
	}
	cmd := m.line(settings, args)
	o = run(cmd, func() { wrote(cmd.Process) })
	file, err := os.Open(report)
	if err != nil {
		t.Fatalf("%v\n%s", errors.Join(err, o.err), o.stderr)
	}
	defer file.Close()
	if err := binary.Read(file, binary.NativeEndian, &o.left); err != nil {
		t.Fatal(err)
	}
	return o
}

// command runs a command of mlarun.
func (m *machine) command(settings, args []string) outcome {
	return run(m.line(settings, args), func() {})
}

// line is a command line of mlarun.
func (m *machine) line(settings, args []string) *exec.Cmd {
	line := append(append(append([]string{}, m.prefix...), m.mlarun), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+m.files, "GOTRACEBACK=none")
	cmd.Env = append(cmd.Env, settings...)
	return cmd
}

// run runs a command line, and calls wrote whenever it has written to its standard
// output.
func run(cmd *exec.Cmd, wrote func()) (o outcome) {
	var stderr strings.Builder
	out := watcher{wrote: wrote}
	cmd.Stdout, cmd.Stderr = &out, &stderr
	o.err = cmd.Run()
	o.out, o.stderr = out.String(), stderr.String()
	return o
}

// watcher keeps the output, and calls wrote after each write.
type watcher struct {
	strings.Builder
	wrote func()
}

func (w *watcher) Write(p []byte) (int, error) {
	defer w.wrote()
	return w.Builder.Write(p)
}
