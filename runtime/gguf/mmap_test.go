//go:build unix

package gguf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"
)

// TestMapAligned maps files whose sizes lie around those of pages.
func TestMapAligned(t *testing.T) {
	for _, size := range []int{1, 4095, 4096, 4097, MapAlign - 1, MapAlign, MapAlign + 1, 5*MapAlign + 4096} {
		want := bytes.Repeat([]byte{1, 2, 3, 5, 7}, size/5+1)[:size]
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := mapFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, want) || uintptr(unsafe.Pointer(&data[0]))%MapAlign != 0 {
			t.Errorf("%d bytes: %d at %p", size, len(data), data)
		}
		if err := unmapFile(data); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
