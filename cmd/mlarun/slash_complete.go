package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// complete returns the completions of a line that begins with a slash.
func (c *conversation) complete(line string) (head string, list []string) {
	name, rest, spaced := strings.Cut(line, " ")
	if !spaced {
		for _, s := range slashes {
			list = append(list, s.name)
		}
		return "", startingWith(list, line)
	}
	s := slashOf(name)
	if s == nil || s.offers == nil {
		return "", nil
	}
	rest = strings.TrimLeft(rest, " ")
	return line[:len(line)-len(rest)], startingWith(s.offers(c, rest), rest)
}

// startingWith returns the entries of a list that begin with a text.
func startingWith(list []string, text string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, text) })
}

// offerFiles lists the files of the folder of a path. Hidden files are listed only if the path ends
// with the beginning of a name.
func offerFiles(_ *conversation, path string) (list []string) {
	folder, file := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && file == "" {
			continue
		}
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		list = append(list, folder+name)
	}
	return list
}

// offerThinking returns the words of /think.
func offerThinking(*conversation, string) []string {
	return strings.Fields(optionOf("mlarun", "think").values)
}

// offerFlags lists the flags that /set may change, and their values.
func (c *conversation) offerFlags(what string) (list []string) {
	f := c.settings.flags
	name, _, valued := strings.Cut(what, " ")
	f.VisitAll(func(fl *flag.Flag) {
		switch {
		case !c.settable(fl):
		case !valued:
			list = append(list, fl.Name)
		case fl.Name == name:
			for _, v := range strings.Fields(optionOf(f.Name(), name).values) {
				list = append(list, name+" "+v)
			}
		}
	})
	return list
}
