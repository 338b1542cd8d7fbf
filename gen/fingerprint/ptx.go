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

// ptx returns the fingerprint of a bundle's PTX: that of the file in generated/ if it is up to date, or with
// -ptx of a new compilation; else "".
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

// kept returns the up-to-date file of a bundle's PTX in generated/, or nil.
func (p *project) kept(b *plan.Bundle) []byte {
	folder := filepath.Join(p.root, "generated", spec.Name(b.Spec))
	for _, path := range []string{filepath.Join(folder, ptxfile.FileName(b.Name)), filepath.Join(folder, golang.ReferenceFolder, ptxfile.FileName(b.Name))} {
		if file, err := os.ReadFile(path); err == nil && ptx.Check(b, file) == nil {
			return file
		}
	}
	return nil
}

// ptxSum returns the hash of a file's instructions, and the version of clang.
func ptxSum(file []byte) (string, error) {
	text, err := ptx.Text(file)
	if err != nil {
		return "", err
	}
	clang, err := ptx.Clang(file)
	return sum(normalise(text)...) + "/clang-" + clang, err
}
