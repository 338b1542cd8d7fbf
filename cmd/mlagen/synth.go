package main

import (
	"io"

	"mla/gen/spec"
	"mla/gen/synth"
)

// runSynth writes a GGUF file with random weights of a spec's real shapes.
func runSynth(args []string, _ io.Writer) error {
	f := newFlags("synth")
	path := f.String("spec", "", "")
	profile := f.String("quant", "", "")
	out := f.String("o", "", "")
	seed := f.Uint64("seed", 1, "")
	if err := f.parse(args, "spec", "quant", "o"); err != nil {
		return err
	}
	s, err := spec.Load(*path)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	return synth.Write(ctx, s, *profile, *out, *seed)
}
