package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mla/gen/initspec"
	"mla/gen/spec"
)

// runInit writes a spec from a GGUF file's header.
func runInit(args []string, stdout io.Writer) error {
	f := newFlags("init")
	model := f.String("gguf", "", "")
	out := f.String("o", "", "")
	act := f.String("act", "", "")
	force := f.Bool("f", false, "")
	if err := f.parse(args, "gguf", "o"); err != nil {
		return err
	}
	activations, err := actList(*act)
	if err != nil {
		return err
	}
	if err := initspec.Write(*model, *out, *force, activations...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "wrote %s; compile it with: go run ./cmd/mlagen -spec %s\n", *out, *out)
	return err
}

// actList reads different names of activations, separated by commas.
func actList(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for i, act := range list {
		if !slices.Contains(spec.Activations, act) || slices.Contains(list[:i], act) {
			return nil, fmt.Errorf("%w: -act is %q; expected %s, or both separated by a comma", errUsage, text, strings.Join(spec.Activations, ", "))
		}
	}
	return list, nil
}
