package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mla/cmd/internal/output"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// newRoot returns the root command, which generates bundles, with all sub-commands.
func newRoot() *cobra.Command {
	root := newGenerate()
	root.AddCommand(newInit(), newDescribe(), newExplain(), newDump(), newVet(), newSynth(), newVerify(), newPTX(), newTune())
	root.AddCommand(newManual(root), newCompletion(root))
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: %s", errUsage, strings.ReplaceAll(err.Error(), " --", " -"))
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { writeHelp(c.OutOrStdout(), c) })
	root.SilenceErrors, root.SilenceUsage = true, true
	for _, c := range append(root.Commands(), root) {
		c.Flags().SortFlags = false
	}
	return root
}

// action is the body of a command after its flags are read. It writes results to out and remarks to notes.
type action func(out, notes io.Writer) error

// command returns a sub-command that takes flags only. The flags named in required must not be empty.
func command(use, short string, run action, required ...string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArgs}
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range required {
			if c.Flags().Lookup(name).Value.String() == "" {
				return fmt.Errorf("%w: %s needs %s", errUsage, c.Name(), oneDash(c.Flags().Lookup(name)))
			}
		}
		return run(c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

// noArgs refuses positional arguments and suggests the sub-command with the nearest name.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%w: unexpected argument %q", errUsage, args[0])
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean mlagen %s?", err, near[0])
	}
	return err
}

// longFlag matches a flag of more than one letter that is written with one dash.
var longFlag = regexp.MustCompile(`^-[A-Za-z][A-Za-z0-9-]+(=.*)?$`)

// twoDashes gives such a flag its second dash, because pflag accepts long flags only with two. Users may
// write -spec F as well as --spec F.
func twoDashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if longFlag.MatchString(a) {
			out[i] = "-" + a
		}
	}
	return out
}

// oneDash returns a flag as help and messages write it: with one dash, and by its letter if it has one.
func oneDash(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "-" + f.Name
}

// writeHelp writes a command's help.
func writeHelp(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, "%s\n", strings.TrimSpace(c.Long+"\n\n"+map[bool]string{true: c.Short}[c.Long == ""]))
	fmt.Fprintf(w, "\nUsage:\n  %s\n", strings.ReplaceAll(c.UseLine(), "\n", "\n  "))
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if c.HasAvailableSubCommands() {
		fmt.Fprintln(t, "\nCommands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(t, "  %s\t%s\n", sub.Name(), sub.Short)
			}
		}
	}
	t.Flush()
	fmt.Fprintln(w, "\nFlags:")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, text := pflag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]" {
			text += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		name := oneDash(f)
		if f.Shorthand != "" {
			name += ", -" + f.Name
		}
		fmt.Fprintf(w, "  %s\n%s", strings.TrimSpace(name+" "+value), output.Wrapped(output.Width, text, "      "))
	})
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if !c.HasParent() {
		fmt.Fprint(w, "\nFlags may have one dash or two. mlagen COMMAND -h and mlagen help COMMAND tell more of a command.\n")
	}
	fmt.Fprintln(w, "\n"+exitCodes)
}

// completions are the values that shells offer for a flag, by the flag's name.
var completions = map[string][]string{
	"act": spec.Activations, "class": plan.Classes, "device": {"cuda", "metal"}, "by": {byStage, byToken},
}
