//go:build unix

package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sum reads all of some memory.
func sum(data []byte) (n int) {
	for _, b := range data {
		n += int(b)
	}
	return n
}

// TestGuard checks that a mapped file which lost data is an error that says what has happened to the file,
// and that other panics continue.
func TestGuard(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(path string) error
		want string
	}{
		"cut":       {func(path string) error { return os.Truncate(path, 10) }, "now has 10: somebody has overwritten it"},
		"emptied":   {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "now has 0: somebody has overwritten it"},
		"cut, gone": {func(path string) error { return errors.Join(os.Truncate(path, 10), os.Remove(path)) }, "is gone"},
		"cut, larger": {func(path string) error {
			return errors.Join(os.Truncate(path, 10), os.Rename(path, path+"2"), os.WriteFile(path, make([]byte, 1<<20), 0o600))
		}, "its disk"},
		"kept":    {func(string) error { return nil }, ""},
		"removed": {os.Remove, ""},
	} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, bytes.Repeat([]byte{1}, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := mapFile(path)
		if err == nil {
			err = tt.lose(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = Guard(func() error { n = sum(data); return nil })
		var lost *LostError
		if tt.want == "" && (err != nil || n != 100_000) || tt.want != "" && (!errors.As(err, &lost) || lost.Path != path || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %d, %v; want %q", name, n, err, tt.want)
		}
		if err := unmapFile(data); err != nil {
			t.Error(err)
		}
	}
	defer func() {
		if p := recover(); p == nil || Fault(p) != nil {
			t.Errorf("%v passes for a lost file", p)
		}
	}()
	_ = Guard(func() error { var none *LostError; none.Offset = 1; return nil })
}
