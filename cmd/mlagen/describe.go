package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/runtime/system/atomicfile"
)

// specFlags are the flags that choose one variant of a spec.
type specFlags struct{ path, act, class string }

func (v *specFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&v.path, "spec", "", "`file` with the spec")
	c.Flags().StringVar(&v.act, "act", "", "`type` of activations, f32 or f16 (default: the spec's first)")
	c.Flags().StringVar(&v.class, "class", "", "`devices` that its shapes are for, apple or nvidia (default: any)")
}

// argument takes the spec's path from the first positional argument if -spec is missing, and returns the
// other arguments.
func (v *specFlags) argument(args []string) []string {
	if v.path != "" || len(args) == 0 {
		return args
	}
	v.path = args[0]
	return args[1:]
}

// load loads the chosen variant. command is the name of the sub-command, for messages.
func (v *specFlags) load(command string) (*spec.Spec, error) {
	if v.path == "" {
		return nil, fmt.Errorf("%w: %s needs a spec", errUsage, command)
	}
	return variant(v.path, v.act, v.class)
}

// describeFlags are the flags of mlagen describe.
type describeFlags struct {
	specFlags
	profile, html, kernels string
	depth, width           int
	json                   bool
}

func newDescribe() *cobra.Command {
	var d describeFlags
	c := command("describe SPEC", "what a token takes: kernels, bytes, barriers, prediction", d.run)
	c.Args = func(c *cobra.Command, args []string) error { return noArgs(c, d.argument(args)) }
	c.Long = "Prints the dispatches of a token, or of several rows, with their bytes and operations, what\neach of the spec's sequences takes, the registers that attention is estimated to hold, and\nwhat the time model predicts for Apple GPUs."
	d.add(c)
	c.Flags().StringVar(&d.profile, "quant", "", "`name` of one of the spec's quant profiles (default: the first)")
	c.Flags().IntVar(&d.depth, "depth", 0, "`tokens` in the context before")
	c.Flags().IntVar(&d.width, "width", 1, "list the dispatches that run this many `tokens` at once")
	c.Flags().BoolVar(&d.json, "json", false, "the same as JSON")
	c.Flags().StringVar(&d.html, "html", "", "write a `page` that shows a token as a timeline")
	c.Flags().StringVar(&d.kernels, "kernels", "", "with -html: a `file` that mlarun bench -kernels -o json wrote, for measured times")
	c.Example = "  mlagen describe specs/glm47flash.yaml -quant q4_0 -html plan.html"
	return c
}

func (d *describeFlags) run(stdout, _ io.Writer) error {
	s, err := d.load("describe")
	if err != nil {
		return err
	}
	switch {
	case d.depth < 0 || d.depth >= s.Model.MaxPositionEmbeddings:
		return fmt.Errorf("%w: -depth %d is outside the context of %d", errUsage, d.depth, s.Model.MaxPositionEmbeddings)
	case d.kernels != "" && d.html == "":
		return fmt.Errorf("%w: -kernels goes with -html", errUsage)
	case d.html != "" && d.width != 1:
		return fmt.Errorf("%w: -html shows a token, not a replay of -width %d", errUsage, d.width)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		return err
	}
	names := []string{}
	for i, p := range b.Profiles {
		if d.profile == "" || p.Name == d.profile {
			r, err := describe.Make(b, i, d.depth, d.width)
			if err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return d.print(r, stdout)
		}
		names = append(names, p.Name)
	}
	return fmt.Errorf("%w: %s has no quant profile %q; it has %q", errUsage, d.path, d.profile, names)
}

func (d *describeFlags) print(r *describe.Report, stdout io.Writer) error {
	switch {
	case d.html != "":
		return d.page(r, stdout)
	case d.json:
		return r.JSON(stdout)
	}
	return r.Table(stdout)
}

// page writes the report as an HTML page.
func (d *describeFlags) page(r *describe.Report, stdout io.Writer) error {
	if d.kernels != "" {
		if err := r.Measured(d.kernels); err != nil {
			return err
		}
	}
	page, err := r.HTML()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(d.html, page); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "wrote %s (%d bytes): %d dispatches of %s\n", d.html, len(page), len(r.Dispatches), r.Bundle)
	return err
}

func newDump() *cobra.Command {
	var v specFlags
	var after string
	var list bool
	c := command("dump SPEC [-after PASS]", "the program after a pass", func(stdout, _ io.Writer) error {
		if list {
			for _, p := range pass.Pipeline {
				fmt.Fprintf(stdout, "%-18s %s\n", p.Name, p.Doc)
			}
			return nil
		}
		s, err := v.load("dump")
		if err != nil {
			return err
		}
		p, err := gen.Program(s, 1, pass.Options{Until: after})
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, p.String())
		return err
	})
	c.Args = func(c *cobra.Command, args []string) error { return noArgs(c, v.argument(args)) }
	v.add(c)
	c.Flags().StringVar(&after, "after", "", "`name` of the last pass that runs (default: all run); lower: none")
	c.Flags().BoolVar(&list, "passes", false, "list the passes instead")
	return c
}
