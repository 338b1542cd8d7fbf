package manual

import (
	"fmt"
	"strings"
)

// Page is the manual page, for section 1, in the macros of man(7).
func (p *Program) Page() string {
	var t strings.Builder
	fmt.Fprintf(&t, ".TH %s 1 \"\" \"%s %s\" \"User Commands\"\n", strings.ToUpper(p.Name), p.Name, roff(p.Version))
	fmt.Fprintf(&t, ".SH NAME\n%s \\- %s\n", p.Name, roff(p.Does))
	t.WriteString(".SH SYNOPSIS\n")
	for i, c := range p.Commands {
		if i > 0 {
			t.WriteString(".br\n")
		}
		fmt.Fprintf(&t, ".B %s\n%s", roff(c.call(p.Name)), line(c.Args))
	}
	t.WriteString(".SH COMMANDS\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&t, ".TP\n.B %s\n%s", roff(c.call(p.Name)), line(c.Does))
	}
	for _, c := range p.Commands {
		if len(c.Flags) == 0 {
			continue
		}
		fmt.Fprintf(&t, ".SH \"OPTIONS OF %s\"\n", strings.ToUpper(roff(c.call(p.Name))))
		for _, f := range c.Flags {
			fmt.Fprintf(&t, ".TP\n\\fB\\-%s\\fR", strings.Join(each(f.Names, roff), "\\fR, \\fB\\-"))
			if f.Value != "" {
				fmt.Fprintf(&t, " \\fI%s\\fR", roff(f.Value))
			}
			text := f.Usage
			if f.Default != "" {
				text += " (default " + f.Default + ")"
			}
			t.WriteString("\n" + line(text))
		}
	}
	fmt.Fprintf(&t, ".SH EXIT STATUS\n%s", line(p.Exits))
	return t.String()
}

// call is how the command is called.
func (c *Command) call(program string) string { return strings.TrimSpace(program + " " + c.Name) }

// roff escapes what troff would read as a command.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "\n", " ").Replace(s)
}

// line is a text as a line of its own, which begins with no macro; nothing of an empty
// one, which would be a paragraph.
func line(s string) string {
	switch s = roff(s); {
	case s == "":
		return ""
	case strings.HasPrefix(s, "."):
		s = `\&` + s
	}
	return s + "\n"
}

func each(list []string, f func(string) string) (out []string) {
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}
