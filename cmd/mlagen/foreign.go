package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mla/gen/golang"
)

// foreign refuses a folder of the caller's, of -out, that holds something else than an
// earlier version of the bundle that it is for: nothing there is replaced or removed then.
func (t *tree) foreign() error {
	if t.alone == nil {
		return nil
	}
	folder := t.folders[0]
	paths, err := filesOf(folder)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if why := t.notOurs(path); why != "" {
			return fmt.Errorf("%s %s; give -out another folder than %s", path, why, folder)
		}
	}
	return nil
}

// notOurs says why a file is not of the bundle that t is for; "": it is, or it is none
// of mlagen's and not in the way.
func (t *tree) notOurs(path string) string {
	line, ours := headed(path), t.has(path)
	switch {
	case line == "" && ours:
		return "is not mlagen's"
	case line == "" && isPTX(path) && t.ptx[path] == nil:
		return "is the PTX of another bundle"
	case line == "":
		return ""
	case !strings.HasPrefix(line, headerMark+"specs/"+t.alone.File+" "):
		return "is of another bundle: " + strings.TrimPrefix(line, "// ")
	case !ours && strings.HasSuffix(path, golang.SourceSuffix):
		return "is the source of another bundle of " + t.alone.File
	case filepath.Base(path) == packageMark:
		for _, name := range bundlesOf(path) {
			if name != t.alone.Name {
				return "is of another bundle, " + name
			}
		}
	}
	return ""
}

// nameLine is where a package names a bundle.
var nameLine = regexp.MustCompile(`(?m)^\t\tName: +"(\w+)",$`)

// bundlesOf lists the bundles of a package.
func bundlesOf(path string) (names []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for _, m := range nameLine.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}
