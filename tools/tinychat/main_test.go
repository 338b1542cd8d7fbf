package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// TestRun: what cannot be run is an error, and the model is looked for where it is said to be.
func TestRun(t *testing.T) {
	for args, want := range map[string]string{"-model missing.gguf": "missing.gguf", "-x": "flag provided but not defined", "": "testdata/tinychat.gguf"} {
		if err := run(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", args, err, want)
		}
	}
	if err := run([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
