package main

import (
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mla/gen/golang"
)

// foreign refuses a folder of the caller's, given by -out, if it contains anything other than an earlier
// version of the bundle to write. In that case nothing in the folder is replaced or removed.
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

// notOurs returns why a file does not belong to the bundle of t. It is "" if the file does, or if it is not
// mlagen's and does not interfere.
func (t *tree) notOurs(path string) string {
	line, ours := headed(path), t.has(path)
	switch {
	case line == "" && ours:
		return "is not mlagen's"
	case line == "" && isPTX(path) && t.ptx[path] == nil:
		return "is the PTX of another bundle"
	case line == "":
		return t.otherPackage(path)
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

// otherPackage says whether a Go file belongs to a package other than the bundle's. Go requires one package
// per folder, besides its external tests. Files that are not built, such as those of another system, and
// files that do not parse as Go do not count.
func (t *tree) otherPackage(path string) string {
	dir, name := filepath.Split(path)
	if filepath.Ext(name) != ".go" {
		return ""
	}
	if built, err := build.Default.MatchFile(dir, name); err != nil || !built {
		return ""
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	found := file.Name.Name
	if strings.HasSuffix(name, "_test.go") {
		found = strings.TrimSuffix(found, "_test")
	}
	if found == t.alone.Name {
		return ""
	}
	return fmt.Sprintf("is of the Go package %s, and the bundle's is %s", found, t.alone.Name)
}

// nameLine matches the line in which a package names a bundle.
var nameLine = regexp.MustCompile(`(?m)^\t\tName: +"(\w+)",$`)

// bundlesOf lists the names of the bundles of a package.
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
