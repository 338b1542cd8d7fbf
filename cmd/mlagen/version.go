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

// version says which program this is, and what the bundles depend on that it writes: two
// programs for which this is alike write the same bundles.
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
		panic(err) // of a file in the program
	}
	return fmt.Sprintf("%s\nbundle files: version %d, schema %.12s, templates %.6x",
		buildinfo.Line("mlagen"), bundlefile.Version, planjson.Schema(), text.Sum(nil))
}
