// Package manual writes a program's manual page and its shell completions from the program's commands and
// their flags, so that nothing is written twice.
package manual

import (
	"flag"
	"reflect"
	"slices"
	"strings"
)

// Program describes a program.
type Program struct {
	Name    string
	Version string
	Does    string // in one line
	// Commands has the default command, whose name is empty, first.
	Commands []Command
	Exits    string // the exit codes, in one line
}

// Command is one way to call the program.
type Command struct {
	Name  string
	Args  string // in one line
	Does  string // in one line
	Flags []Flag
}

// Flag is a flag of a command.
type Flag struct {
	Names   []string // without dashes; the flag's own name first
	Value   string   // the kind of value; "": the flag takes none
	Usage   string
	Values  []string // values that shells offer; nil: any
	Default string   // "": none worth mentioning
}

// paths are the kinds of values that are files or folders.
var paths = []string{"file", "folder", "library", "bundle"}

// takesPath says whether shells should offer files.
func (f *Flag) takesPath() bool { return slices.Contains(paths, f.Value) }

// Flags lists the flags of a set. A flag without a usage is another name of the flag with the same value.
func Flags(set *flag.FlagSet) []Flag {
	var list []Flag
	at := map[flag.Value]int{}
	comparable := func(f *flag.Flag) bool { return reflect.TypeOf(f.Value).Comparable() }
	set.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		own := Flag{Names: []string{f.Name}, Value: value, Usage: usage}
		if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) && !strings.Contains(usage, "(default") {
			own.Default = f.DefValue
		}
		if comparable(f) {
			at[f.Value] = len(list)
		}
		list = append(list, own)
	})
	set.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" || !comparable(f) {
			return
		}
		if i, ok := at[f.Value]; ok {
			list[i].Names = append(list[i].Names, f.Name)
		}
	})
	return list
}
