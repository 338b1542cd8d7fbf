package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// TestRun checks the errors for models that cannot be run, and that the model is read from the given path.
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
