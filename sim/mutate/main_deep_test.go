//go:build deep

package main

import (
	"testing"
)

// TestFast makes a small draw of all mutations; each must be caught.
func TestFast(t *testing.T) {
	caught, err := command(t.Context(), []string{"-fast", "-root", root}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if !caught {
		t.Error("a mutation escaped")
	}
}
