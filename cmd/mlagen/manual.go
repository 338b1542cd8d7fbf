package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mla/cmd/internal/manual"
	"mla/runtime/system/buildinfo"
)

// newManual is the command that prints the manual page.
func newManual(root *cobra.Command) *cobra.Command {
	return command("man", "print the manual page", func(out, _ io.Writer) error {
		p := manual.Program{Name: "mlagen", Version: buildinfo.Version(), Does: root.Short, Exits: strings.TrimPrefix(exitCodes, "Exit codes: ")}
		for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
			p.Commands = append(p.Commands, describeCommand(c))
		}
		_, err := io.WriteString(out, p.Page())
		return err
	})
}

// describeCommand is what the manual page has of a command.
func describeCommand(c *cobra.Command) manual.Command {
	name, args, _ := strings.Cut(c.Use, " ")
	if !c.HasParent() {
		name = ""
	}
	m := manual.Command{Name: name, Args: args, Does: c.Short}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		own := manual.Flag{Names: []string{f.Name}, Value: value, Usage: usage}
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
