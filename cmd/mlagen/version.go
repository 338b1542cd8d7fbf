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

// version describes this program and everything on which its bundles depend: two programs with the same
// version write the same bundles.
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
		panic(err) // the file is embedded in the program
	}
	return fmt.Sprintf("%s\nbundle files: version %d, schema %.12s, templates %.6x",
		buildinfo.Line("mlagen"), bundlefile.Version, planjson.Schema(), text.Sum(nil))
}
