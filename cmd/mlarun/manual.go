package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"mla/cmd/internal/manual"
	"mla/runtime/system/buildinfo"
)

// manuals are the commands that describe the other commands. They are not in the table of commands, as they
// read it.
var manuals = map[string]string{
	"completion": "print what completes command lines in a shell: " + strings.Join(manual.Shells(), ", "),
	"man":        "print the manual page",
}

// writeManual prints the manual page, or the completion script for a shell.
func (e *env) writeManual(args []string) error {
	p, err := e.manual()
	if err != nil {
		return err
	}
	text := p.Page()
	if args[0] == "completion" {
		var ok bool
		if text, ok = p.Completion(strings.Join(args[1:], " ")); !ok {
			return &usageError{fmt.Sprintf("completion is for one shell: %s", strings.Join(manual.Shells(), ", ")), "mlarun completion SHELL", "mlarun help lists the commands."}
		}
	}
	_, err = io.WriteString(e.out, text)
	return err
}

// manual collects all commands with their flags.
func (e *env) manual() (*manual.Program, error) {
	p := &manual.Program{Name: "mlarun", Version: buildinfo.Version(), Does: "run a GGUF model with its compiled bundle", Exits: exitCodes}
	all := append([]command{{"", generateArgs, "continue a text; chat with -chat, or on a terminal without a text", generate}}, commands...)
	for _, c := range all {
		flags, err := e.flagsOf(c.run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		p.Commands = append(p.Commands, manual.Command{Name: c.name, Args: c.args, Does: c.does, Flags: flags})
	}
	return p, nil
}

// flagsOf returns the flags of a command. The command runs only until it has declared them.
func (e *env) flagsOf(run func(*env, []string) error) (list []manual.Flag, err error) {
	asked := *e
	asked.declared = func(set *flag.FlagSet) {
		list = manual.Flags(set)
		for i := range list {
			if o := optionOf(set.Name(), list[i].Names[0]); o != nil {
				list[i].Values = strings.Fields(o.values)
			}
		}
	}
	if err := run(&asked, nil); !errors.Is(err, flag.ErrHelp) {
		return nil, fmt.Errorf("its flags are not to be had: %w", err)
	}
	return list, nil
}
