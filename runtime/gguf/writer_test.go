package gguf

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/quant"
)

func bytesOf(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// TestWriterFailures checks that no failure leaves a file, or replaces one.
func TestWriterFailures(t *testing.T) {
	two := []TensorInfo{{"a", quant.F32, []uint64{4}}, {"b", quant.F32, []uint64{4}}}
	broken := errors.New("disk on fire")
	tests := []struct {
		name  string
		write func(w *Writer) error
		want  []string
	}{
		{"out of order", func(w *Writer) error { return w.WriteTensor("b", bytesOf(16)) }, []string{`tensor "b"`, `"a" comes next`}},
		{"too short", func(w *Writer) error { return w.WriteTensor("a", bytesOf(12)) }, []string{`tensor "a"`, "got 12 bytes; expected 16"}},
		{"too long", func(w *Writer) error { return w.WriteTensor("a", bytesOf(17)) }, []string{`tensor "a"`, "longer than expected"}},
		{"source fails", func(w *Writer) error { return w.WriteTensor("a", func(io.Writer) error { return broken }) }, []string{`tensor "a"`, "disk on fire"}},
		{"incomplete", func(w *Writer) error { return w.WriteTensor("a", bytesOf(16)) }, []string{`tensor "b" has not been written`}},
		{"too many", func(w *Writer) error {
			return errors.Join(w.WriteTensor("a", bytesOf(16)), w.WriteTensor("b", bytesOf(16)), w.WriteTensor("c", bytesOf(16)))
		}, []string{`tensor "c"`, "all tensors"}},
		{"abandoned", func(w *Writer) error { w.Abort(); return nil }, []string{"closed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.gguf")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(path, nil, two)
			if err != nil {
				t.Fatal(err)
			}
			err = tt.write(w)
			if closed := w.Close(); closed == nil {
				t.Error("Close succeeded")
			} else if err == nil {
				err = closed
			}
			wantError(t, err, append(tt.want, path)...)
			if old, err := os.ReadFile(path); err != nil || string(old) != "old" {
				t.Errorf("the old file is %q, %v", old, err)
			}
			checkOnlyFile(t, path)
		})
	}
}

func checkOnlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files left behind: %v, %v", entries, err)
	}
}

func TestWriterAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	w, err := NewWriter(path, everyKind(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // must not remove the finished file
	wantError(t, w.Close(), path, "closed")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	checkOnlyFile(t, path)
}

func TestWriterRefusesBadHeader(t *testing.T) {
	x := func(name string, typ quant.Type, dims ...uint64) []TensorInfo { return []TensorInfo{{name, typ, dims}} }
	tests := []struct {
		name    string
		meta    []KV
		tensors []TensorInfo
		want    []string
	}{
		{"duplicate key", []KV{{"k", Bool(true)}, {"k", Bool(true)}}, nil, []string{`key "k"`}},
		{"long key", []KV{{strings.Repeat("k", maxKeyLen+1), Bool(true)}}, nil, []string{"too long"}},
		{"alignment", []KV{{alignmentKey, Uint32(5)}}, nil, []string{alignmentKey, "is 5"}},
		{"huge alignment", []KV{{alignmentKey, Uint64(1 << 62)}}, nil, []string{alignmentKey, "at most 1048576"}},
		{"duplicate tensor", nil, append(x("t", quant.F32, 1), x("t", quant.F32, 1)...), []string{`tensor "t"`, "twice"}},
		{"long name", nil, x(strings.Repeat("t", 65), quant.F32, 1), []string{"64 bytes"}},
		{"five dimensions", nil, x("t", quant.F32, 1, 1, 1, 1, 1), []string{`tensor "t"`, "4 dimensions"}},
		{"block", nil, x("t", quant.Q4_0, 33), []string{`tensor "t"`, "multiple of 32"}},
		{"sum of sizes", nil, append(x("s", quant.Q8_0, 1<<59), x("t", quant.Q8_0, 1<<59)...), []string{`tensor "t"`, "too many bytes"}},
		{"type", nil, x("t", 137, 32), []string{`tensor "t"`, "unknown type 137"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.gguf")
			_, err := NewWriter(path, tt.meta, tt.tensors)
			wantError(t, err, append(tt.want, path)...)
		})
	}
	_, err := NewWriter(filepath.Join(t.TempDir(), "absent", "x.gguf"), nil, nil)
	wantError(t, err, "absent")
}
