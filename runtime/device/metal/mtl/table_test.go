package mtl

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTable checks the Go declarations against the table, in both directions.
func TestTable(t *testing.T) {
	sent := map[string]bool{}
	for tag, m := range declared {
		if sent[tag] {
			t.Errorf("%s is declared twice", tag)
		}
		sent[tag] = true
		s, err := row(tag)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := s.check(m.function().Type()); err != nil {
			t.Error(err)
		}
		if makes := strings.Contains(reflect.TypeOf(m).String(), "make"); makes != s.ClassMethod() {
			t.Errorf("%s is declared as %T", tag, m)
		}
	}
	rows := map[string]bool{}
	for _, s := range Selectors {
		tag := s.Class + " " + s.Name
		if rows[tag] || !sent[tag] {
			t.Errorf("%s: twice in the table, or never declared", tag)
		}
		rows[tag] = true
		if s.Name[0] != '-' && s.Name[0] != '+' || strings.Count(s.Name, ":") != len(s.Args) {
			t.Errorf("%s has %d arguments", tag, len(s.Args))
		}
		if s.Doc == "" || macOS(t, s.Since) > 27 {
			t.Errorf("%s: documented at %q since %q", tag, s.Doc, s.Since)
		}
	}
}

func macOS(t *testing.T, version string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(version, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}

// TestNewMessages checks the list of messages that macOS 14, the oldest supported system, does not know. Code
// that sends one of them must check the version first.
func TestNewMessages(t *testing.T) {
	gated := []string{"MTLResidencySet", "MTLResidencySetDescriptor"}
	single := []string{"-newResidencySetWithDescriptor:error:", "-setMathMode:", "-setMathFloatingPointFunctions:", "-addResidencySet:", "-removeResidencySet:",
		"-setOptimizeForPersistentKernel:", "-recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:"}
	for _, s := range Selectors {
		want := slices.Contains(gated, s.Class) || slices.Contains(single, s.Name)
		if is := macOS(t, s.Since) >= 15; is != want {
			t.Errorf("%s %s: since %s", s.Class, s.Name, s.Since)
		}
	}
}

// TestFunctions checks the C functions against their table.
func TestFunctions(t *testing.T) {
	v := reflect.TypeOf(functions)
	if v.NumField()+1 != len(Functions) { // and objc_msgSend
		t.Errorf("%d functions declared, %d in the table", v.NumField(), len(Functions))
	}
	for i := range v.NumField() {
		f := v.Field(i)
		at := slices.IndexFunc(Functions, func(c Function) bool { return c.Name == f.Tag.Get("c") })
		if at < 0 {
			t.Errorf("%s is not in the table", f.Name)
			continue
		}
		c := &Functions[at]
		var args []Type
		for j := range f.Type.NumIn() {
			args = append(args, encodings[f.Type.In(j)])
		}
		result := Void
		if f.Type.NumOut() > 0 {
			result = encodings[f.Type.Out(0)]
		}
		if !slices.Equal(args, c.Args) || result != c.Return {
			t.Errorf("%s is declared as %q giving %q; the table has %q giving %q", c.Name, args, result, c.Args, c.Return)
		}
	}
}

// TestCheckRejects checks that each kind of wrong signature is rejected.
func TestCheckRejects(t *testing.T) {
	s, err := row("MTLDevice -newBufferWithLength:options:")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(reflect.TypeFor[func(ID, SEL, uint64, uint64) ID]()); err != nil {
		t.Error(err)
	}
	for _, bad := range []reflect.Type{
		reflect.TypeFor[func(ID, SEL, uint64) ID](),
		reflect.TypeFor[func(ID, SEL, uint64, uint32) ID](),
		reflect.TypeFor[func(ID, SEL, uint64, int64) ID](),
		reflect.TypeFor[func(ID, SEL, uint64, uint64)](),
		reflect.TypeFor[func(ID, SEL, uint64, uint64) uint64](),
		reflect.TypeFor[func(SEL, ID, uint64, uint64) ID](),
	} {
		if s.check(bad) == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	if _, err := row("MTLDevice -unknown"); err == nil {
		t.Error("an unknown message is found")
	}
}

// TestEncoding checks encodings and ownership against the rules of Objective-C.
func TestEncoding(t *testing.T) {
	for tag, want := range map[string]struct {
		encoding string
		owned    bool
	}{
		"NSObject -retain":                                             {"@@:", true},
		"NSString +stringWithUTF8String:":                              {"@@:*", false},
		"MTLCompileOptions +new":                                       {"@@:", true},
		"MTLDevice -newBufferWithLength:options:":                      {"@@:QQ", true},
		"MTLCommandQueue -commandBuffer":                               {"@@:", false},
		"MTLComputeCommandEncoder -executeCommandsInBuffer:withRange:": {"v@:@{_NSRange=QQ}", false},
	} {
		s, err := row(tag)
		if err != nil || s.Encoding() != want.encoding || s.Owned() != want.owned {
			t.Errorf("%s: %q, owned %v, %v", tag, s.Encoding(), s.Owned(), err)
		}
	}
}

// TestEveryCallGoesThroughTheTable reads the package's source: every message is
// used, and only register.go and load.go reach for purego.
func TestEveryCallGoesThroughTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
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
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "messages" {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	v := reflect.TypeOf(messages)
	for i := range v.NumField() {
		if name := v.Field(i).Name; !used[name] {
			t.Errorf("nobody sends %s", name)
		}
	}
}

// TestLoadFailures checks the errors for libraries that cannot be loaded.
func TestLoadFailures(t *testing.T) {
	if runtime.GOOS != "darwin" {
		if err := Load(""); !errors.Is(err, ErrNoLibrary) {
			t.Errorf("without a library: %v", err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.so")
	if err := Load(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing library: %v", err)
	}
}
