package msl

import (
	"fmt"
	"io/fs"
	"mla/gen/target"
	"strings"
	"testing"

	"mla/gen/msl/frontend"
	"mla/runtime/plan"
	"mla/templates"
)

// TestLibrary checks that every file of the library is plain Metal without template actions, and is printed
// for some bundle.
func TestLibrary(t *testing.T) {
	known := map[string]bool{}
	for _, s := range sections() {
		if s.book != nil {
			continue
		}
		known["msl/lib/"+s.name+".metal"] = true
	}
	err := fs.WalkDir(templates.MSL, "msl/lib", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(templates.MSL, path)
		if strings.Contains(string(text), "{{") {
			t.Errorf("%s is a template", path)
		}
		if !known[path] {
			t.Errorf("no bundle has %s", path)
		}
		delete(known, path)
		return err
	})
	if err != nil || len(known) > 0 {
		t.Errorf("%v; files that are not there: %v", err, known)
	}
	prelude, err := templates.MSL.ReadFile("msl/lib/prelude.metal")
	if want := fmt.Sprintf("enum : uint { PAGE_ROWS = %d };", plan.PageRows); err != nil || !strings.Contains(string(prelude), want) {
		t.Errorf("the prelude lacks %q (%v)", want, err)
	}
}

// TestWholeLibrary checks that the front end accepts all files as one source, also the files that no bundle
// has.
func TestWholeLibrary(t *testing.T) {
	var text strings.Builder
	for _, s := range sections() {
		file, err := s.text()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(file)
	}
	text.WriteString(closeNamespace + "\n")
	if err := frontend.Check(text.String(), target.ThreadgroupBytes); err != nil {
		t.Error(err)
	}
}
