package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"mla/cmd/internal/output"
	"mla/runtime/system/userfile"
)

// slash is a command of a chat.
type slash struct {
	name, args, does string
	// run runs the command, and returns the text to print.
	run func(c *conversation, rest string) (string, error)
	// offers lists the completions of rest, the arguments so far; nil: none.
	offers func(c *conversation, rest string) []string
}

// errQuit ends a chat.
var errQuit = errors.New("quit")

// slashes are the commands of a chat, in the order of /help.
var slashes []slash

func init() { // /help lists them
	slashes = []slash{
		{"/help", "", "this list", func(c *conversation, _ string) (string, error) { return slashHelp(c.settings.env.columns()), nil }, nil},
		{"/clear", "", "start a new conversation", func(c *conversation, _ string) (string, error) { c.clear(); return "New conversation.", nil }, nil},
		{"/regen", "", "answer the last message once more", (*conversation).regen, nil},
		{"/undo", "", "take the last message and its answer back", (*conversation).undo, nil},
		{"/system", "[TEXT]", "show the system message, or replace it", (*conversation).replaceSystem, nil},
		{"/read", "FILE", "put the text of a file before the next message", (*conversation).readFile, offerFiles},
		{"/think", "[on|off|show|hide|N]", "think or not, show thoughts or not, or think N tokens at most", (*conversation).think, offerThinking},
		{"/set", "[FLAG VALUE]", "change how tokens are picked, as in /set temp 0.2; without a flag, list all", (*conversation).set, (*conversation).offerFlags},
		{"/ctx", "", "how full the context is", (*conversation).context, nil},
		{"/stats", "", "how long the last answer took", (*conversation).stats, nil},
		{"/save", "FILE", "write the conversation to a file", (*conversation).saveChat, offerFiles},
		{"/load", "FILE", "go on with a conversation that /save wrote", (*conversation).loadChat, offerFiles},
		{"/quit", "", "leave; so does Ctrl-D", func(*conversation, string) (string, error) { return "", errQuit }, nil},
	}
}

// slashHelp returns the text of /help for a terminal of some columns.
func slashHelp(columns int) string {
	var out strings.Builder
	for _, s := range slashes {
		out.WriteString(strings.TrimSpace(s.name+" "+s.args) + "\n" + output.Wrapped(columns, s.does, "    "))
	}
	out.WriteString(output.Wrapped(columns, `""" begins and ends a message of several lines; what is pasted is one message.`, ""))
	out.WriteString(output.Wrapped(columns, "Ctrl-C stops an answer or drops a line, Tab completes commands, files and flags, // begins a message with a slash.", ""))
	return strings.TrimRight(out.String(), "\n")
}

// slashOf returns the command with which a line begins; nil if there is none.
func slashOf(line string) *slash {
	name := strings.Fields(line)[0]
	if name == "/exit" || name == "/bye" { // the names in other programs
		name = "/quit"
	}
	for i := range slashes {
		if slashes[i].name == name {
			return &slashes[i]
		}
	}
	return nil
}

// readFile puts a file's text before the next message.
func (c *conversation) readFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("which file?")
	}
	file, err := userfile.OpenPiped(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := readText(path, file)
	if err != nil {
		return "", err
	}
	c.attached += strings.TrimRight(text, "\n") + "\n\n"
	return fmt.Sprintf("%s, %d bytes, goes before your next message.", path, len(text)), nil
}

// think switches thinking on or off. A template's default is on.
func (c *conversation) think(what string) (string, error) {
	t := &c.settings.thinks
	if what == "" {
		what = "off"
		if t.on != nil && !*t.on {
			what = "on"
		}
	}
	asked, err := parseThinking(what, *t)
	if err != nil {
		return "", err
	}
	*t = asked
	return fmt.Sprintf("Thinking: %s.", asked), nil
}

// settable says whether /set may change a flag.
func (c *conversation) settable(fl *flag.Flag) bool {
	f := c.settings.flags
	o := optionOf(f.Name(), fl.Name)
	return f.named[fl.Name] == "" && o != nil && (o.group == groupSampling && !slices.Contains([]string{"stop", "logit-bias", "dry-sequence-breaker", "sampler-seq"}, fl.Name) || fl.Name == "n")
}

// set changes a sampling flag, or lists all of them.
func (c *conversation) set(what string) (string, error) {
	f, s := c.settings.flags, c.settings.sampling
	name, value, _ := strings.Cut(what, " ")
	if name == "" {
		var lines []string
		f.VisitAll(func(fl *flag.Flag) {
			if c.settable(fl) {
				lines = append(lines, fmt.Sprintf("%-20s %s", fl.Name, fl.Value))
			}
		})
		return strings.Join(lines, "\n"), nil
	}
	fl := f.Lookup(f.own(strings.TrimLeft(name, "-")))
	if fl == nil || !c.settable(fl) {
		return "", fmt.Errorf("there is no %q; /set lists what can be set", name)
	}
	before := fl.Value.String()
	err := f.Set(fl.Name, strings.TrimSpace(value))
	if s.params.Seed = s.seed; err == nil {
		if err = s.valid(); err == nil && c.settings.max < -1 {
			err = fmt.Errorf("%d; expected -1 or more", c.settings.max)
		}
	}
	if err != nil {
		return "", errors.Join(err, fl.Value.Set(before))
	}
	return fmt.Sprintf("%s is %s.", fl.Name, fl.Value), nil
}

// context says how full the context is with the prompt of the conversation so far.
func (c *conversation) context(string) (string, error) {
	used := 0
	if len(c.messages) > 0 {
		t, err := c.prompt()
		if err != nil {
			return "", err
		}
		used = len(t.Prompt)
	}
	return fmt.Sprintf("%d of %d tokens (%.0f %%), %s", used, c.Context(), 100*float64(used)/float64(max(c.Context(), 1)), counted(len(c.messages), "message")), nil
}

// stats describes how long the last answer took.
func (c *conversation) stats(string) (string, error) {
	if c.last.Reason == "" {
		return "There is no answer yet.", nil
	}
	return strings.Join(c.settings.timings(c.last), " · "), nil
}
