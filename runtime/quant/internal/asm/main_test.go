package main

import (
	"bytes"
	"os"
	"testing"
)

// TestUpToDate regenerates the assembly, twice: the output must be the files of
// package quant, byte for byte.
func TestUpToDate(t *testing.T) {
	for range 2 {
		assembly, declarations, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]byte{"zdot_amd64.s": assembly, "zdot_amd64.go": declarations} {
			got, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what the generator writes; run: go generate ./runtime/quant", name)
			}
		}
	}
}
