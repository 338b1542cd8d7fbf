package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"mla/gen/spec"
	"mla/gen/synth"
)

func newSynth() *cobra.Command {
	var path, profile, out string
	var seed uint64
	var force bool
	c := command("synth -spec F -quant Q -o F", "write a GGUF file with random weights of a spec's real shapes", func(stdout, _ io.Writer) error {
		s, err := spec.Load(path)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(out); err == nil && !force {
			return fmt.Errorf("%s exists; -f overwrites it", out)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		ctx, stop := interruptible()
		defer stop()
		if err := synth.Write(ctx, s, profile, out, seed); err != nil {
			return err
		}
		info, err := os.Stat(out)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "wrote %s (%d bytes)\n", out, info.Size())
		return err
	}, "spec", "quant", "output")
	c.Long = "Writes a file to try speed with, without a download. What it generates means nothing."
	c.Flags().StringVar(&path, "spec", "", "`file` with the model's spec")
	c.Flags().StringVar(&profile, "quant", "", "`name` of one of the spec's quant profiles, such as q4_0")
	c.Flags().StringVarP(&out, "output", "o", "", "the GGUF `file` to write")
	c.Flags().BoolVarP(&force, "force", "f", false, "replace a file that is there")
	c.Flags().Uint64Var(&seed, "seed", 1, "`seed` of the random numbers")
	return c
}
