// Package manual writes a program's manual page, and what completes its command lines in
// shells, from its commands and their flags: nothing of them is written twice.
package manual

import (
	"flag"
	"reflect"
	"slices"
	"strings"
)

// Program is what is described.
type Program struct {
	Name    string
	Version string
	Does    string // in a line
	// Commands has the default, whose name is empty, first.
	Commands []Command
	Exits    string // the exit codes, in a line
}

// Command is one way to call the program.
type Command struct {
	Name  string
	Args  string // in a line
	Does  string // in a line
	Flags []Flag
}

// Flag is a flag of a command.
type Flag struct {
	Names   []string // without dashes, its own first
	Value   string   // what follows the flag; "": nothing
	Usage   string
	Values  []string // that shells offer; nil: any
	Default string   // "": none that is worth a word
}

// paths are the values that are files or folders.
var paths = []string{"file", "folder", "library", "bundle"}

// takesPath tells whether shells should offer files.
func (f *Flag) takesPath() bool { return slices.Contains(paths, f.Value) }

// Flags lists those of a set. A flag without a usage is another name of the one that has
// the same value.
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
