package main

import (
	"os"
	"path/filepath"

	"mla/gen/golang"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// ptx is the fingerprint of a bundle's PTX: of the file that mlagen ptx left, if that is up to
// date, else of what clang makes now. "": there is no file, and clang was not asked for.
func (p *project) ptx(b *plan.Bundle) (string, error) {
	file := p.kept(b)
	if file == nil && !p.compile(b.Name) {
		return "", nil
	}
	if file == nil {
		var err error
		if file, err = ptx.Build(b); err != nil {
			return "", err
		}
	}
	return ptxSum(file)
}

// kept is the up-to-date file of a bundle's PTX in generated/; nil: there is none.
func (p *project) kept(b *plan.Bundle) []byte {
	folder := filepath.Join(p.root, "generated", spec.Name(b.Spec))
	for _, path := range []string{filepath.Join(folder, ptxfile.FileName(b.Name)), filepath.Join(folder, golang.ReferenceFolder, ptxfile.FileName(b.Name))} {
		if file, err := os.ReadFile(path); err == nil && ptx.Check(b, file) == nil {
			return file
		}
	}
	return nil
}

// ptxSum is the hash of a file's instructions, and the clang that chose them.
func ptxSum(file []byte) (string, error) {
	text, err := ptx.Text(file)
	if err != nil {
		return "", err
	}
	clang, err := ptx.Clang(file)
	return sum(normalise(text)...) + "/clang-" + clang, err
}
