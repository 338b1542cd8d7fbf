// This file finds the tests that the build tag deep changes. The deep tier runs only these tests: all
// other tests are the same in both tiers, and the fast tier has run them.
//
// The tag changes a test in two ways. The test may be in a file with the build constraint deep. Or the
// test depends on a declaration in such a file, or on deep.On, which is true in the deep tier only. A test
// depends on each name that the text of the test mentions, and on each name that the declarations of
// those names mention. Example:
//
//	func TestShapes(t *testing.T) { checkAll(t) }
//	func checkAll(t *testing.T)   { for range rounds() { … } }
//	func rounds() int             { if deep.On { return 100 }; return 1 }
//
// rounds mentions deep.On, checkAll mentions rounds, and TestShapes mentions checkAll: the deep tier
// runs TestShapes. The search compares names alone and knows no types. So it may also find a test that
// the tag does not change. That test then runs twice, which only costs time.

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

// testFiles holds the declarations in the test files of a package, for all operating systems. The name of
// a method has a dot in front.
type testFiles struct {
	mentions map[string]map[string]bool // for each declared name: the names that its declarations mention
	tests    []string                   // the names of the tests
	deep     map[string]bool            // the names that the tag deep changes
}

// testName matches the name of a function that `go test` runs.
var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// deepTests returns the names of the tests in a folder that the tag deep changes.
func deepTests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	s := testFiles{mentions: map[string]map[string]bool{}, deep: map[string]bool{}}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.add(f)
	}
	// If the tag changes TestMain itself, it changes every test. The names that TestMain mentions do not
	// count: TestMain looks up, by name, a case that a test runs as a separate program. The test that runs
	// the case mentions it as well.
	if s.deep["TestMain"] {
		return s.tests, nil
	}
	delete(s.mentions, "TestMain")
	s.propagate()
	return slices.DeleteFunc(s.tests, func(name string) bool { return !s.deep[name] }), nil
}

// add adds the declarations of a file.
func (s *testFiles) add(f *ast.File) {
	tagged := hasDeepTag(f)
	for _, d := range f.Decls {
		if group, ok := d.(*ast.GenDecl); ok {
			for _, spec := range group.Specs {
				s.addDeclaration(tagged, spec, declaredNames(spec))
			}
			continue
		}
		name := d.(*ast.FuncDecl).Name.Name
		if d.(*ast.FuncDecl).Recv != nil {
			name = "." + name
		}
		s.addDeclaration(tagged, d, []string{name})
	}
}

// addDeclaration adds declaration d, which declares names. tagged reports whether the file of d has the tag deep.
func (s *testFiles) addDeclaration(tagged bool, d ast.Node, names []string) {
	mentions := mentionedNames(d)
	changed := tagged || mentions["deep.On"]
	for _, name := range names {
		if name == "init" && changed { // init may change every variable that it mentions
			maps.Copy(s.deep, mentions)
			continue
		}
		if testName.MatchString(name) && name != "TestMain" {
			s.tests = append(s.tests, name)
		}
		if s.mentions[name] == nil {
			s.mentions[name] = map[string]bool{}
		}
		maps.Copy(s.mentions[name], mentions)
		s.deep[name] = s.deep[name] || changed
	}
}

// hasDeepTag reports whether the build constraint of a file depends on the tag deep.
func hasDeepTag(f *ast.File) (found bool) {
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

// declaredNames returns the names that spec declares: constants, variables or a type.
func declaredNames(spec ast.Spec) (names []string) {
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

// mentionedNames returns the names that a declaration mentions. For x.Name it returns x, .Name (the
// method), Name and x.Name: in a test package whose name ends in _test, x may be the tested package, whose
// test files declare Name. For x.name it returns x and .name. A local variable counts like a
// package-level name.
func mentionedNames(d ast.Node) map[string]bool {
	names := map[string]bool{}
	own := map[*ast.Ident]bool{} // the identifiers that d declares
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
			maps.Copy(names, mentionedNames(n.X))
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

// propagate adds to s.deep every name that mentions a name of s.deep. It repeats this until no name is new.
func (s *testFiles) propagate() {
	for again := true; again; {
		again = false
		for name, mentions := range s.mentions {
			if s.deep[name] {
				continue
			}
			for mentioned := range mentions {
				if s.deep[mentioned] && s.mentions[mentioned] != nil {
					s.deep[name], again = true, true
					break
				}
			}
		}
	}
}

// deepPackages returns the packages in which the tag deep changes a test, and a pattern for `go test -run`
// that matches the names of the changed tests. dirs has the folder of each package. The pattern may also
// match an unchanged test of another package, which then runs twice. That only costs time.
func deepPackages(dirs map[string]string) (packages []string, pattern string, err error) {
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

// printDeep writes one line for each package in which the tag deep changes a test: the package and the
// names of the changed tests. The last line has the number of these tests. dirs has the folder of each package.
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
