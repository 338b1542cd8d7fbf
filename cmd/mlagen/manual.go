package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mla/cmd/internal/manual"
	"mla/runtime/system/buildinfo"
)

// newManual returns the command that prints the manual page.
func newManual(root *cobra.Command) *cobra.Command {
	return command("man", "print the manual page", func(out, _ io.Writer) error {
		_, err := io.WriteString(out, manualOf(root).Page())
		return err
	})
}

// newCompletion returns the command that prints the completion script of a shell. It replaces cobra's own
// command, which needs the package bash-completion and completes flags with two dashes only.
func newCompletion(root *cobra.Command) *cobra.Command {
	shells := strings.Join(manual.Shells(), ", ")
	return &cobra.Command{Use: "completion SHELL", Short: "print what completes command lines in a shell: " + shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(manual.Shells(), args[0]) {
				return fmt.Errorf("%w: completion is for one shell: %s", errUsage, shells)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			text, _ := manualOf(root).Completion(args[0])
			_, err := io.WriteString(c.OutOrStdout(), text)
			return err
		}}
}

// manualOf collects the manual page of all commands.
func manualOf(root *cobra.Command) *manual.Program {
	p := &manual.Program{Name: "mlagen", Version: buildinfo.Version(), Does: root.Short, Exits: strings.TrimPrefix(exitCodes, "Exit codes: ")}
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		p.Commands = append(p.Commands, describeCommand(c))
	}
	return p
}

// describeCommand returns the entry of one command in the manual page.
func describeCommand(c *cobra.Command) manual.Command {
	name, args, _ := strings.Cut(c.Use, " ")
	if !c.HasParent() {
		name = ""
	}
	m := manual.Command{Name: name, Args: args, Does: c.Short}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		own := manual.Flag{Names: []string{f.Name}, Value: value, Usage: usage, Values: completions[f.Name]}
		if f.Shorthand != "" {
			own.Names = []string{f.Shorthand, f.Name}
		}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) {
			own.Default = f.DefValue
		}
		m.Flags = append(m.Flags, own)
	})
	return m
}
