package npy

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.npy")
	w, err := Create(path, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{1, -2.5, float32(math.Inf(1)), 0, math.MaxFloat32, math.SmallestNonzeroFloat32}
	for _, row := range [][]float32{want[:3], want[3:]} {
		if err := w.WriteRow(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteRow(want[:3]); err == nil {
		t.Error("a third row is accepted")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// What numpy.save writes before the data of a (2, 3) array.
	head := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) + "\n"
	if !strings.HasPrefix(string(data), head) || len(head) != 128 {
		t.Errorf("header is %q", data[:min(len(data), 128)])
	}
	got, rows, cols, err := Read(bytes.NewReader(data))
	if err != nil || rows != 2 || cols != 3 || !slices.Equal(got, want) {
		t.Errorf("read %v, %d × %d, %v", got, rows, cols, err)
	}
}

func TestCloseTooEarly(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "m.npy"), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Error("a file without its row is accepted")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestTarget makes sure that only regular files are replaced, and links followed.
func TestTarget(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "m.npy"), filepath.Join(dir, "l.npy")
	if _, err := Create(dir, 1, 1); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	w, err := Create(link, 0, 1)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), magic) {
		t.Errorf("the file that the link names has %q, %v", data, err)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestReadErrors(t *testing.T) {
	good := append(header(1, 2), make([]byte, 8)...)
	tests := map[string][]byte{
		"empty":     nil,
		"magic":     append([]byte("x"), good[1:]...),
		"cut":       good[:40],
		"data cut":  good[:len(good)-4],
		"data odd":  good[:len(good)-1],
		"type":      bytes.Replace(good, []byte("<f4"), []byte("<f8"), 1),
		"shape":     bytes.Replace(good, []byte("(1, 2)"), []byte("(1,  )"), 1),
		"huge":      bytes.Replace(good, []byte("(1, 2), }   "), []byte("(99999999, 2"), 1),
		"order":     bytes.Replace(good, []byte("False"), []byte("True "), 1),
		"zero cols": bytes.Replace(good, []byte("(1, 2)"), []byte("(1, 0)"), 1),
	}
	for name, data := range tests {
		if _, _, _, err := Read(bytes.NewReader(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, spelling := range []string{"(1, 2)", "(1,2,)"} {
		if _, rows, cols, err := Read(bytes.NewReader(bytes.Replace(good, []byte("(1, 2)"), []byte(spelling), 1))); err != nil || rows != 1 || cols != 2 {
			t.Errorf("%s: %d × %d, %v", spelling, rows, cols, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(append(header(1, 2), make([]byte, 8)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, rows, cols, err := Read(bytes.NewReader(data)); err == nil && len(got) != rows*cols {
			t.Errorf("%d values for %d × %d", len(got), rows, cols)
		}
	})
}
