package manual

import (
	"fmt"
	"strings"
)

// Page returns the manual page, for section 1, in the macros of man(7).
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

// call returns the beginning of the command's command line.
func (c *Command) call(program string) string { return strings.TrimSpace(program + " " + c.Name) }

// roff escapes characters that troff would interpret.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "\n", " ").Replace(s)
}

// line returns a text as a separate line that does not begin a macro. An empty text gives no line, since an
// empty line would begin a paragraph.
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
