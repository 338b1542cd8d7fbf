package main

import (
	"fmt"
	"io"

	"mla/gen/initspec"
)

// runInit writes a spec from a GGUF file's header.
func runInit(args []string, stdout io.Writer) error {
	f := newFlags("init")
	model := f.String("gguf", "", "")
	out := f.String("o", "", "")
	force := f.Bool("f", false, "")
	if err := f.parse(args, "gguf", "o"); err != nil {
		return err
	}
	if err := initspec.Write(*model, *out, *force); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "wrote %s; compile it with: go run ./cmd/mlagen -spec %s\n", *out, *out)
	return err
}
