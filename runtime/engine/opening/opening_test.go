package opening_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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

const model = "../../../testdata/reference/youtu-tiny-F32.gguf"

// named is the CPU device under another name.
type named struct {
	device.Device
	name string
}

func (d named) Name() string { return d.name }

// candidate returns a device that opens, or that fails with an error.
func candidate(name string, fails error) opening.Candidate {
	return opening.Candidate{Name: name, Open: func() (device.Device, error) { return named{cpu.New(), name}, fails }}
}

var (
	errAbsent = errors.New("there is none")
	errBroken = errors.New("it is broken")
	errBad    = errors.New("its numbers are wrong")
)

// TestOrder checks that the first device which opens and does not refuse the model runs it. A device that is
// passed over is reported, unless the machine lacks it.
func TestOrder(t *testing.T) {
	absent, broken, bad, good, last := candidate("a", errAbsent), candidate("b", errBroken), candidate("c", nil), candidate("d", nil), candidate("cpu", nil)
	absent.Absent = func(err error) bool { return err == errAbsent }
	broken.Absent = absent.Absent
	bad.Refuses = func(_ device.Device, r *bind.Resolved, b *plan.Bundle) error {
		if len(r.Fit(b)) > 0 {
			t.Error("it is asked about a bundle that does not fit")
		}
		return errBad
	}
	last.Refuses = bad.Refuses // nobody is left to run it
	for _, tt := range []struct {
		devices []opening.Candidate
		want    string
		notes   []string
		err     error
	}{
		{[]opening.Candidate{good, last}, "d", nil, nil},
		{[]opening.Candidate{absent, bad, last}, "cpu", []string{"its numbers are wrong, so cpu"}, nil},
		{[]opening.Candidate{absent, broken, bad, good}, "d", []string{"it is broken, so c", "its numbers are wrong, so d"}, nil},
		{[]opening.Candidate{bad}, "c", nil, nil},
		{[]opening.Candidate{absent}, "", nil, errAbsent},
		{[]opening.Candidate{bad, broken}, "", []string{"its numbers are wrong, so b"}, errBroken},
	} {
		var notes []string
		opened := 0
		e, err := opening.Open(opening.Options{
			File:    func(device.Device) (*gguf.File, error) { opened++; return gguf.Open(model) },
			Bundles: &bundles.Finder{Program: generated.Bundles()},
			Devices: tt.devices,
			Note:    func(reason error, next string) { notes = append(notes, reason.Error()+", so "+next) },
		})
		if !errors.Is(err, tt.err) || !slices.Equal(notes, tt.notes) || opened > 1 {
			t.Errorf("%s: %v, notes %q, the file was opened %d times", tt.want, err, notes, opened)
		}
		if err != nil {
			continue
		}
		if e.Device().Name() != tt.want {
			t.Errorf("%s runs the model; want %s", e.Device().Name(), tt.want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNotAModel checks the error for a file without the keys of a model.
func TestNotAModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	w, err := gguf.NewWriter(path, []gguf.KV{{Key: "general.architecture", Value: gguf.String("clip")}}, nil)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opening.On(path, generated.Bundles(), "", cpu.New()); err == nil || !strings.Contains(err.Error(), "this is no model") {
		t.Errorf("%v", err)
	}
}

// TestOneDoor checks that packages which run models read a file's header, and join a file with a bundle, only
// through the functions that check both.
func TestOneDoor(t *testing.T) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(module))
	for _, rule := range []struct {
		text    string
		allowed []string
	}{
		{"gguf.ReadHParams", []string{"runtime/load/bind/resolved.go"}},
		{"engine.New(", []string{"runtime/engine/opening/opening.go", "runtime/doctor/trial/trial.go"}},
	} {
		for _, folder := range []string{"runtime", "cmd/mlarun", "."} {
			paths, err := sources(filepath.Join(root, folder), folder != ".")
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				name, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), rule.text) && !slices.Contains(rule.allowed, filepath.ToSlash(name)) {
					t.Errorf("%s has %s; expected it in %v alone", name, rule.text, rule.allowed)
				}
			}
		}
	}
}

// sources returns the Go files of a folder without its tests. If deep is set it includes subfolders.
func sources(folder string, deep bool) (list []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != folder && !deep {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			list = append(list, path)
		}
		return err
	})
	return list, err
}
