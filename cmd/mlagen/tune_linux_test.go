package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/spec"
)

// The stand-ins for the drivers read their configuration once per process. So the
// test binary is mlagen where argsVariable has its arguments, separated by tabs.
const argsVariable = "MLAGEN_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(run(strings.Split(args, "\t"), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is mlagen in a process of its own.
func process(env []string, args ...string) (out string, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), argsVariable+"="+strings.Join(args, "\t")), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// standIn is a library that `make sim` builds.
func standIn(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../build/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make sim builds it", err)
	}
	return path
}

// tinyCopy is the smallest spec in a folder of its own.
func tinyCopy(t *testing.T) (path string, text []byte) {
	t.Helper()
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "tiny.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, text
}

// interrupter keeps what a command writes, and interrupts it at the first of it, as
// Ctrl-C does.
type interrupter struct {
	strings.Builder
	cmd *exec.Cmd
}

func (i *interrupter) Write(p []byte) (int, error) {
	if i.Len() == 0 {
		if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
			return 0, err
		}
	}
	return i.Builder.Write(p)
}

// modified lists a folder with times.
func modified(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		list.WriteString(f.Name() + " " + info.ModTime().String() + "\n")
	}
	return list.String()
}

func tinyF32(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Load(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	q, err := spec.ParseQuant("f32")
	if err != nil {
		t.Fatal(err)
	}
	s.Quants = []spec.Quant{q}
	return s
}
