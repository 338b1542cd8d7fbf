package manual

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shells holds the functions that write completion scripts, by shell.
var shells = map[string]func(*Program) string{"bash": (*Program).bash, "zsh": (*Program).zsh, "fish": (*Program).fish}

// Shells lists the names that Completion accepts.
func Shells() []string { return slices.Sorted(maps.Keys(shells)) }

// Completion returns the completion script for a shell. ok is false for an unknown shell.
func (p *Program) Completion(shell string) (text string, ok bool) {
	write, ok := shells[shell]
	if !ok {
		return "", false
	}
	return write(p), true
}

// names lists the names of the commands.
func (p *Program) names() (list []string) {
	for _, c := range p.Commands {
		if c.Name != "" {
			list = append(list, c.Name)
		}
	}
	return list
}

// pattern returns the pattern of a command in a shell's case statement. The default command matches
// everything, so it comes last.
func pattern(c *Command) string {
	if c.Name == "" {
		return "*"
	}
	return c.Name
}

// dashed lists, with dashes, the names of the flags for which want returns true.
func dashed(flags []Flag, want func(*Flag) bool) (list []string) {
	for i := range flags {
		if want(&flags[i]) {
			for _, n := range flags[i].Names {
				list = append(list, "-"+n)
			}
		}
	}
	return list
}

// ordered returns the commands with the default command last, as a case statement needs.
func (p *Program) ordered() []Command {
	return append(slices.Clone(p.Commands[1:]), p.Commands[0])
}

func (p *Program) bash() string {
	var t strings.Builder
	fmt.Fprintf(&t, `# Completes the command lines of %[1]s in bash.
_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= files= values= choices=
	before=${before/#--/-}
	case ${COMP_WORDS[1]} in
`, p.Name)
	for _, c := range p.ordered() {
		fmt.Fprintf(&t, "\t%s)\n\t\tflags=%q\n\t\tfiles=%q\n\t\tvalues=%q\n%s\t\t;;\n", pattern(&c),
			strings.Join(dashed(c.Flags, func(*Flag) bool { return true }), " "),
			" "+strings.Join(dashed(c.Flags, (*Flag).takesPath), " ")+" ",
			" "+strings.Join(dashed(c.Flags, func(f *Flag) bool { return f.Value != "" && !f.takesPath() }), " ")+" ", bashChoices(c.Flags))
	}
	fmt.Fprintf(&t, `	esac
	COMPREPLY=()
	if [ -n "$choices" ]; then
		COMPREPLY=($(compgen -W "$choices" -- "$word"))
		return
	fi
	case $values in *" $before "*) return ;; esac
	case $files in *" $before "*)
		COMPREPLY=($(compgen -f -- "$word"))
		return
		;;
	esac
	case $word in
	--*) COMPREPLY=($(compgen -P - -W "$flags" -- "${word#-}")) ;;
	-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
	*)
		if [ "$COMP_CWORD" = 1 ]; then
			COMPREPLY=($(compgen -W %[2]q -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi
		;;
	esac
}
complete -o filenames -F _%[1]s %[1]s
`, p.Name, strings.Join(p.names(), " "))
	return t.String()
}

// bashChoices writes the cases that set the values to offer after a flag.
func bashChoices(flags []Flag) string {
	var t strings.Builder
	for _, f := range flags {
		if len(f.Values) > 0 {
			fmt.Fprintf(&t, "\t\tcase $before in -%s) choices=%q ;; esac\n", strings.Join(f.Names, "|-"), strings.Join(f.Values, " "))
		}
	}
	return t.String()
}

// zshPlain escapes the characters that end a description in a specification of zsh's _arguments.
var zshPlain = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)

func (p *Program) zsh() string {
	var t strings.Builder
	fmt.Fprintf(&t, "#compdef %[1]s\n# Completes the command lines of %[1]s in zsh.\n_%[1]s() {\n\tlocal -a commands\n\tcommands=(\n", p.Name)
	for _, c := range p.Commands {
		if c.Name != "" {
			fmt.Fprintf(&t, "\t\t%s\n", quoted(c.Name+":"+c.Does))
		}
	}
	t.WriteString("\t)\n\twords=(\"${(@)words/#--/-}\") # flags have one dash; two are taken, too\n\t[[ $PREFIX = --* ]] && compset -P -\n\tcase ${words[2]} in\n")
	for _, c := range p.ordered() {
		fmt.Fprintf(&t, "\t%s)\n\t\t_arguments \\\n", pattern(&c))
		for _, f := range c.Flags {
			for _, name := range f.Names {
				spec := "*-" + name + "[" + zshPlain.Replace(short(f.Usage)) + "]"
				switch value := strings.ReplaceAll(f.Value, ":", `\:`); {
				case len(f.Values) > 0:
					spec += ":" + value + ":(" + strings.Join(f.Values, " ") + ")"
				case f.takesPath():
					spec += ":" + value + ":_files"
				case f.Value != "":
					spec += ":" + value + ": "
				}
				fmt.Fprintf(&t, "\t\t\t%s \\\n", quoted(spec))
			}
		}
		rest := quoted("*:file:_files")
		if c.Name == "" {
			rest = quoted("1:command:{_describe command commands}") + " " + rest
		}
		fmt.Fprintf(&t, "\t\t\t%s\n\t\t;;\n", rest)
	}
	fmt.Fprintf(&t, "\tesac\n}\n_%[1]s \"$@\"\n", p.Name)
	return t.String()
}

func (p *Program) fish() string {
	var t strings.Builder
	fmt.Fprintf(&t, "# Completes the command lines of %s in fish.\n", p.Name)
	for _, c := range p.Commands {
		when := "__fish_use_subcommand"
		if c.Name != "" {
			fmt.Fprintf(&t, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", p.Name, c.Name, fishQuoted(c.Does))
			when = "__fish_seen_subcommand_from " + c.Name
		}
		for _, f := range c.Flags {
			for _, name := range f.Names {
				fmt.Fprintf(&t, "complete -c %s -n %s -o %s -d %s", p.Name, fishQuoted(when), name, fishQuoted(short(f.Usage)))
				switch {
				case len(f.Values) > 0:
					fmt.Fprintf(&t, " -x -a %s", fishQuoted(strings.Join(f.Values, " ")))
				case f.takesPath():
					t.WriteString(" -r -F")
				case f.Value != "":
					t.WriteString(" -x")
				}
				t.WriteString("\n")
			}
		}
	}
	return t.String()
}

// mostShort is the greatest length of a usage in completions, in bytes.
const mostShort = 70

// short returns the beginning of a usage.
func short(usage string) string {
	text, _, _ := strings.Cut(usage, ";")
	if len(text) <= mostShort {
		return text
	}
	if at := strings.LastIndexByte(text[:mostShort], ' '); at > 0 {
		return text[:at] + " ..."
	}
	return text
}

// quoted quotes a word for bash and zsh.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fishQuoted quotes a word for fish, which interprets escapes within single quotes.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
