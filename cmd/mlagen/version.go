package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"

	"mla/runtime/plan/bundlefile"
	"mla/runtime/plan/planjson"
	"mla/runtime/system/buildinfo"
	"mla/templates"
)

// version returns the program's version and the versions of everything that its bundles depend on. Two
// programs with the same text write the same bundles.
func version() string {
	text := sha256.New()
	err := fs.WalkDir(templates.MSL, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := templates.MSL.ReadFile(path)
		fmt.Fprintf(text, "%s %d\n%s", path, len(data), data)
		return err
	})
	if err != nil {
		panic(err) // the templates are embedded in the program, so reading cannot fail
	}
	return fmt.Sprintf("%s\nbundle files: version %d, schema %.12s, templates %.6x",
		buildinfo.Line("mlagen"), bundlefile.Version, planjson.Schema(), text.Sum(nil))
}
