//go:build deep

package main

import (
	"path/filepath"
	"testing"
)

// TestRegisters counts the registers of all kernels of the shipped specs.
func TestRegisters(t *testing.T) {
	for _, name := range specs {
		of, err := bundles(filepath.Join("..", "..", "specs", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range of {
			list, err := counted(b)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) < 30 {
				t.Errorf("%s: %d kernels", b.Name, len(list))
			}
			check(t, b.Name, list)
		}
	}
}
