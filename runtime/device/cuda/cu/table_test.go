package cu

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestTable checks the Go declarations against the table, in both directions.
func TestTable(t *testing.T) {
	called := map[string]bool{}
	for name, f := range declared {
		if called[name] {
			t.Errorf("%s is declared twice", name)
		}
		called[name] = true
		r, err := row(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := r.check(f.Type().Elem()); err != nil {
			t.Error(err)
		}
	}
	rows := map[string]bool{}
	for _, f := range Functions {
		if rows[f.Name] || !called[f.Name] {
			t.Errorf("%s: twice in the table, or never declared", f.Name)
		}
		rows[f.Name] = true
		if f.Since < 2000 || f.Since > MinDriver {
			t.Errorf("%s: since %s, but the oldest driver is that of %s", f.Name, Version(f.Since), Version(MinDriver))
		}
	}
	if _, err := row("cuUnknown"); err == nil {
		t.Error("an unknown function is found")
	}
}

// TestCheckRejects checks that each kind of wrong signature is rejected.
func TestCheckRejects(t *testing.T) {
	r, err := row("cuMemAlloc_v2")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.check(reflect.TypeFor[func(*Ptr, uint64) result]()); err != nil {
		t.Error(err)
	}
	for _, bad := range []reflect.Type{
		reflect.TypeFor[func(*Ptr) result](),
		reflect.TypeFor[func(*Ptr, uint32) result](),
		reflect.TypeFor[func(*handle, uint64) result](),
		reflect.TypeFor[func(*Ptr, uint64)](),
		reflect.TypeFor[func(*Ptr, uint64) int32](),
		reflect.TypeFor[func(*Ptr, uint64, uint64) result](),
	} {
		if r.check(bad) == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestLayouts checks that structs have the layout of cuda.h on a 64-bit system.
func TestLayouts(t *testing.T) {
	var p kernelParams
	for name, at := range map[string][2]uintptr{
		"size":          {unsafe.Sizeof(p), 72},
		"blockDimX":     {unsafe.Offsetof(p.blockX), 20},
		"sharedMem":     {unsafe.Offsetof(p.dynamicShared), 32},
		"kernelParams":  {unsafe.Offsetof(p.params), 40},
		"extra":         {unsafe.Offsetof(p.extra), 48},
		"kern":          {unsafe.Offsetof(p.kernel), 56},
		"ctx":           {unsafe.Offsetof(p.context), 64},
		"handle's size": {unsafe.Sizeof(handle(0)), 8},
	} {
		if at[0] != at[1] {
			t.Errorf("%s is %d; expected %d", name, at[0], at[1])
		}
	}
}

// TestEveryCallGoesThroughTheTable reads the package's source: every function is
// called, errors name the function that was called, and only register.go and
// load.go reach for purego.
func TestEveryCallGoesThroughTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	v := reflect.TypeOf(api)
	for i := range v.NumField() {
		tags[v.Field(i).Name] = v.Field(i).Tag.Get("cu")
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if strings.Contains(i.Path.Value, "purego") && name != "register.go" && name != "load.go" {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isAPI(s) {
				used[s.Sel.Name] = true
			}
			if c, ok := n.(*ast.CallExpr); ok {
				if named, called := checked(c); called != "" && named != tags[called] {
					t.Errorf("%s: check(%q, api.%s)", name, named, called)
				}
			}
			return true
		})
	}
	for i := range v.NumField() {
		if name := v.Field(i).Name; !used[name] {
			t.Errorf("nobody calls %s", name)
		}
	}
}

func isAPI(s *ast.SelectorExpr) bool {
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "api"
}

// checked is the name in check("cuName", api.called(…)) and the field that it calls.
func checked(c *ast.CallExpr) (named, called string) {
	if f, ok := c.Fun.(*ast.Ident); !ok || f.Name != "check" || len(c.Args) != 2 {
		return "", ""
	}
	literal, ok := c.Args[0].(*ast.BasicLit)
	inner, isCall := c.Args[1].(*ast.CallExpr)
	if !ok || !isCall {
		return "", ""
	}
	s, ok := inner.Fun.(*ast.SelectorExpr)
	if !ok || !isAPI(s) {
		return "", ""
	}
	return strings.Trim(literal.Value, `"`), s.Sel.Name
}

// TestRegisterNamesWhatIsMissing checks that an error names the functions that a library lacks.
func TestRegisterNamesWhatIsMissing(t *testing.T) {
	hidden := []string{"cuGraphAddKernelNode_v2", "cuGraphLaunch"}
	missing, err := register(func(name string) uintptr {
		if slices.Contains(hidden, name) {
			return 0
		}
		return 1 // never called
	})
	if err != nil || !slices.Equal(missing, hidden) {
		t.Errorf("missing %q, %v", missing, err)
	}
}

// TestLoadFailures checks the errors for libraries that cannot be loaded.
func TestLoadFailures(t *testing.T) {
	if runtime.GOOS != "linux" {
		if err := Load(""); !errors.Is(err, ErrNoDriver) {
			t.Errorf("without a library: %v", err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.so")
	if err := Load(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing library: %v", err)
	}
}

func TestVersion(t *testing.T) {
	for v, want := range map[int]string{12080: "12.8", 12000: "12.0", 13010: "13.1"} {
		if got := Version(v); got != want {
			t.Errorf("%d is %s; expected %s", v, got, want)
		}
	}
}
