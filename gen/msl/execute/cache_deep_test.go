//go:build deep

package execute

import (
	"os"
	"testing"
)

// TestDamaged checks that an object whose bytes have changed is compiled again, however it was damaged.
func TestDamaged(t *testing.T) {
	folder := ownCache(t)
	compiled(t, four, Fast)
	for name, damage := range map[string]func([]byte) []byte{
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"changed":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		for _, pattern := range []string{"o-*", "k-*"} {
			for _, path := range glob(t, folder, pattern) {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(path); err != nil { // a running program may have it open
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := compiled(t, four, Fast); len(got) != 4 {
				t.Errorf("%s %s: compiled %v, want all", pattern, name, got)
			}
			if got := compiled(t, four, Fast); len(got) != 0 {
				t.Errorf("%s %s: compiled %v again", pattern, name, got)
			}
		}
	}
}
