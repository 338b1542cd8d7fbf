package gguf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestParseHeader checks every prefix of a file: it is too short, or it has all tensors at the same places as
// the whole file. Only tensors within the prefix have data.
func TestParseHeader(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "m.gguf"), everyKind(), smallTensors())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Parse("m.gguf", data)
	if err != nil {
		t.Fatal(err)
	}
	short := 0
	for n := 1; n <= len(data); n++ {
		f, err := ParseHeader("m.gguf", data[:n], int64(len(data)))
		if errors.Is(err, ErrShort) {
			short++
			continue
		}
		if err != nil || n <= short {
			t.Fatalf("%d bytes: %v", n, err)
		}
		for i, want := range whole.Tensors {
			got := f.Tensors[i]
			there := want.Offset+want.Size <= uint64(n)
			if got.Name != want.Name || got.Offset != want.Offset || got.Size != want.Size || (got.Data != nil) != there {
				t.Fatalf("%d bytes: %+v; want %+v", n, got, want)
			}
		}
	}
	if short == 0 || short == len(data) {
		t.Errorf("%d of %d beginnings are too short", short, len(data))
	}
	if _, err := ParseHeader("m.gguf", data, int64(len(data)-1)); err == nil {
		t.Error("more bytes than the file has")
	}
	for _, size := range []int64{100, int64(len(data) - 1)} {
		if _, err := ParseHeader("m.gguf", data[:100], size); err == nil {
			t.Errorf("a file of %d bytes", size)
		}
	}
}
