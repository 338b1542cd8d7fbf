package main

import (
	"fmt"
	"io"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/pass"
)

// runDescribe prints the plan of a spec under one quant profile.
func runDescribe(args []string, stdout io.Writer) error {
	f := newFlags("describe")
	path := f.String("spec", "", "")
	profile := f.String("quant", "", "")
	depth := f.Int("depth", 0, "")
	act := f.String("act", "", "")
	class := f.String("class", "", "")
	asJSON := f.Bool("json", false, "")
	if err := f.parse(args, "spec"); err != nil {
		return err
	}
	s, err := variant(*path, *act, *class)
	if err != nil {
		return err
	}
	if *depth < 0 || *depth >= s.Model.MaxPositionEmbeddings {
		return fmt.Errorf("%w: -depth %d is outside the context of %d", errUsage, *depth, s.Model.MaxPositionEmbeddings)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		return err
	}
	names := []string{}
	for i, p := range b.Profiles {
		if *profile == "" || p.Name == *profile {
			r := describe.Make(b, i, *depth)
			if *asJSON {
				return r.JSON(stdout)
			}
			return r.Table(stdout)
		}
		names = append(names, p.Name)
	}
	return fmt.Errorf("%w: %s has no quant profile %q; it has %q", errUsage, *path, *profile, names)
}

// runDump prints the program after a pass.
func runDump(args []string, stdout io.Writer) error {
	f := newFlags("dump")
	path := f.String("spec", "", "")
	act := f.String("act", "", "")
	class := f.String("class", "", "")
	after := f.String("after", "", "")
	list := f.Bool("passes", false, "")
	if err := f.parse(args); err != nil {
		return err
	}
	if *list {
		for _, p := range pass.Pipeline {
			fmt.Fprintf(stdout, "%-18s %s\n", p.Name, p.Doc)
		}
		return nil
	}
	if *path == "" {
		return fmt.Errorf("%w: dump needs -spec", errUsage)
	}
	s, err := variant(*path, *act, *class)
	if err != nil {
		return err
	}
	p, err := gen.Program(s, 1, pass.Options{Until: *after})
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, p.String())
	return err
}
