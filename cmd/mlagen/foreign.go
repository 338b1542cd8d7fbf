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

// foreign returns an error if the folder given by -out contains files of something else than an earlier
// version of the same bundle. Nothing is written or removed in that case.
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

// notOurs returns why a file of the folder forbids to write there. The result is empty if mlagen generated
// the file for t's bundle, or if the file has nothing to do with bundles.
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

// otherPackage reports whether a Go file declares another package than the bundle's. Go allows one package
// per folder, and its external tests. Files for another system, and files that do not parse, are ignored.
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

// nameLine matches the line on which generated Go names its bundle.
var nameLine = regexp.MustCompile(`(?m)^\t\tName: +"(\w+)",$`)

// bundlesOf lists the names of the bundles that a generated Go file declares.
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
