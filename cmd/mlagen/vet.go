package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mla/gen/spec"
	"mla/gen/vet"
)

func newVet() *cobra.Command {
	var path string
	var all, list bool
	c := command("vet -spec F | -all | -list", "what a spec has that is allowed and probably not meant", func(out, _ io.Writer) error {
		switch {
		case list:
			return listRules(out)
		case all == (path != ""):
			return fmt.Errorf("%w: give either -spec F, -all or -list", errUsage)
		}
		paths := []string{path}
		if all {
			root, err := moduleRoot()
			if err != nil {
				return err
			}
			if paths, err = specFiles(root); err != nil {
				return err
			}
		}
		return vetAll(paths, out)
	})
	c.Long = "Looks for keys without effect, bundles that no file needs, and kernels that a device runs\nbadly. Where something is found it exits with 1; mlagen -spec compiles the spec all the same."
	c.Flags().StringVar(&path, "spec", "", "`file` with the spec")
	c.Flags().BoolVar(&all, "all", false, "every spec in specs/")
	c.Flags().BoolVar(&list, "list", false, "list the rules instead")
	return c
}

func listRules(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, r := range vet.Rules {
		fmt.Fprintf(t, "%s\t%s\n", r.Name, r.Doc)
	}
	return t.Flush()
}

func vetAll(paths []string, out io.Writer) error {
	found := 0
	for _, path := range paths {
		s, err := spec.Load(path)
		if err != nil {
			return err
		}
		list, err := vet.Look(s)
		if err != nil {
			return err
		}
		for _, f := range list {
			fmt.Fprintf(out, "%s: %s: %s\n", path, f.Rule, f.Text)
		}
		found += len(list)
	}
	if found > 0 {
		return fmt.Errorf("mlagen vet: %s; mlagen vet -list says what the rules are for", counted(found, "finding"))
	}
	_, err := fmt.Fprintf(out, "%s, %s: nothing found\n", counted(len(paths), "spec"), counted(len(vet.Rules), "rule"))
	return err
}

// counted returns a number with its noun, in the plural where it needs one.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
