package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is what a package's test files declare, of all systems.
type source struct {
	uses  map[string]map[string]bool // by declared name: the names that its declarations mention
	tests []string
	deep  map[string]bool // names that the tag deep changes
}

// testName is a function that `go test` runs.
var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// deepTests names the tests of a folder that the tag deep adds or gives more examples: those
// of files with the tag, and those that reach deep.On or such a file through what they mention.
// All others are the same in both tiers.
func deepTests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	s := source{uses: map[string]map[string]bool{}, deep: map[string]bool{}}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.add(f)
	}
	// The main function of all tests looks up the cases that tests run as programs of their own,
	// by name: it hands no test a case that the test does not mention.
	if s.deep["TestMain"] {
		return s.tests, nil
	}
	delete(s.uses, "TestMain")
	s.spread()
	return slices.DeleteFunc(s.tests, func(name string) bool { return !s.deep[name] }), nil
}

// add takes up the declarations of a file.
func (s *source) add(f *ast.File) {
	tagged := mentionsTag(f)
	for _, d := range f.Decls {
		if all, ok := d.(*ast.GenDecl); ok {
			for _, spec := range all.Specs {
				s.declare(tagged, spec, declared(spec))
			}
			continue
		}
		name := d.(*ast.FuncDecl).Name.Name
		if d.(*ast.FuncDecl).Recv != nil {
			name = "." + name
		}
		s.declare(tagged, d, []string{name})
	}
}

// declare takes up a declaration of names.
func (s *source) declare(tagged bool, d ast.Node, names []string) {
	uses := mentioned(d)
	changed := tagged || uses["deep.On"]
	for _, name := range names {
		if name == "init" && changed { // as may be what it mentions
			maps.Copy(s.deep, uses)
			continue
		}
		if testName.MatchString(name) && name != "TestMain" {
			s.tests = append(s.tests, name)
		}
		if s.uses[name] == nil {
			s.uses[name] = map[string]bool{}
		}
		maps.Copy(s.uses[name], uses)
		s.deep[name] = s.deep[name] || changed
	}
}

// mentionsTag says that a file's build constraint has the tag deep.
func mentionsTag(f *ast.File) (found bool) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				expr, err := constraint.Parse(c.Text)
				found = found || err == nil && expr.Eval(func(string) bool { return true }) != expr.Eval(func(tag string) bool { return tag != "deep" })
			}
		}
	}
	return found
}

// declared are the names that a line of a declaration of constants, variables or types declares.
func declared(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names = append(names, name.Name)
		}
	case *ast.TypeSpec:
		names = append(names, spec.Name.Name)
	}
	return names
}

// mentioned are the names that a declaration mentions. What follows a dot has it: it is of a
// method, if it is not exported by the package to its tests of another name. Locals of a name
// that is declared elsewhere count, too: that runs a test once more.
func mentioned(d ast.Node) map[string]bool {
	names := map[string]bool{}
	own := map[*ast.Ident]bool{} // what it declares
	switch d := d.(type) {
	case *ast.FuncDecl:
		own[d.Name] = true
	case *ast.ValueSpec:
		for _, name := range d.Names {
			own[name] = true
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names["."+n.Sel.Name] = true
			if x, ok := n.X.(*ast.Ident); ok && n.Sel.IsExported() {
				names[n.Sel.Name] = true
				names[x.Name+"."+n.Sel.Name] = true
			}
			maps.Copy(names, mentioned(n.X))
			return false
		case *ast.Ident:
			if !own[n] {
				names[n.Name] = true
			}
		}
		return true
	})
	return names
}

// spread marks what mentions a name that the tag changes, until there is nothing more.
func (s *source) spread() {
	for again := true; again; {
		again = false
		for name, uses := range s.uses {
			if s.deep[name] {
				continue
			}
			for used := range uses {
				if s.deep[used] && s.uses[used] != nil {
					s.deep[name], again = true, true
					break
				}
			}
		}
	}
}

// deeper are the packages in which the tag deep changes a test, and the pattern of those tests'
// names. A test of another package with such a name runs once more: that does no harm.
func deeper(dirs map[string]string) (packages []string, pattern string, err error) {
	all := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(dirs)) {
		names, err := deepTests(dirs[p])
		if err != nil {
			return nil, "", err
		}
		for _, name := range names {
			all[name] = true
		}
		if len(names) > 0 {
			packages = append(packages, p)
		}
	}
	return packages, "^(" + strings.Join(slices.Sorted(maps.Keys(all)), "|") + ")$", nil
}

// printDeep writes a line for each package with tests that only the deep tier has, or that have
// more examples there.
func printDeep(w io.Writer, dirs map[string]string) error {
	tests := 0
	for _, p := range slices.Sorted(maps.Keys(dirs)) {
		names, err := deepTests(dirs[p])
		if err != nil {
			return err
		}
		if tests += len(names); len(names) > 0 {
			fmt.Fprintf(w, "%s: %s\n", p, strings.Join(names, " "))
		}
	}
	_, err := fmt.Fprintf(w, "%d tests are of the deep tier alone, or have more examples there; make prove runs them\n", tests)
	return err
}
