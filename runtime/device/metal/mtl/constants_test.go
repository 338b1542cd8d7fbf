package mtl

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// constant is a Go constant and the enumerators of Apple's headers that it means.
type constant struct {
	name  string
	value int64
	apple string
}

// constants lists every constant of the package.
var constants = []constant{
	{"Apple1", Apple1, "GPUFamilyApple1"},
	{"Apple10", Apple10, "GPUFamilyApple10"},
	{"StorageShared", StorageShared, "ResourceStorageModeShared"},
	{"StoragePrivate", StoragePrivate, "ResourceStorageModePrivate"},
	{"Language3_1", Language3_1, "LanguageVersion3_1"},
	{"mathModeSafe", mathModeSafe, "MathModeSafe"},
	{"mathFunctionsPrecise", mathFunctionsPrecise, "MathFloatingPointFunctionsPrecise"},
	{"pipelineOptionNone", pipelineOptionNone, "PipelineOptionNone"},
	{"UsageRead", UsageRead, "ResourceUsageRead"},
	{"UsageReadWrite", UsageReadWrite, "ResourceUsageRead | ResourceUsageWrite"},
	{"dispatchConcurrent", dispatchConcurrent, "DispatchTypeConcurrent"},
	{"barrierScopeBuffers", barrierScopeBuffers, "BarrierScopeBuffers"},
	{"statusCompleted", statusCompleted, "CommandBufferStatusCompleted"},
	{"errorTimeout", errorTimeout, "CommandBufferErrorTimeout"},
	{"errorAccessRevoked", errorAccessRevoked, "CommandBufferErrorAccessRevoked"},
	{"commandConcurrentDispatch", commandConcurrentDispatch, "IndirectCommandTypeConcurrentDispatch"},
}

// TestConstants reads the package's source. It checks that every numeric constant is in the list above, and
// that no call passes an enumeration as a bare number, which nothing would compare.
func TestConstants(t *testing.T) {
	h, err := readHeaders(appleHeaders(t))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				for _, c := range numbers(n) {
					found[c] = true
				}
			case *ast.CallExpr:
				if enum, bare := bareEnum(h, n); bare {
					t.Errorf("%s sends a value of %s as a bare number", name, enum)
				}
			}
			return true
		})
	}
	for _, c := range constants {
		if !found[c.name] {
			t.Errorf("%s is no constant of the package, or listed twice", c.name)
		}
		delete(found, c.name)
	}
	for name := range found {
		t.Errorf("%s is not compared with Apple's headers", name)
	}
}

// numbers returns the names of the constants of a declaration that are not strings.
func numbers(d *ast.GenDecl) (names []string) {
	if d.Tok != token.CONST {
		return nil
	}
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		for i, v := range s.Values {
			if lit, ok := v.(*ast.BasicLit); !ok || lit.Kind != token.STRING {
				names = append(names, s.Names[i].Name)
			}
		}
	}
	return names
}

// bareEnum reports whether a call is messages.X.send with a literal where Apple's headers want a value of an
// enumeration.
func bareEnum(h *headers, call *ast.CallExpr) (enum string, bare bool) {
	send, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || send.Sel.Name != "send" {
		return "", false
	}
	field, ok := send.X.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	f, ok := reflect.TypeOf(messages).FieldByName(field.Sel.Name)
	if !ok {
		return "", false
	}
	s, err := row(f.Tag.Get("objc"))
	if err != nil {
		return "", false
	}
	_, d, _ := h.find(s)
	args := call.Args[len(call.Args)-len(s.Args):] // without the receiver
	for i, kind := range d.args {
		_, literal := args[i].(*ast.BasicLit)
		if enum, ok := enumOf(kind); ok && literal {
			return enum, true
		}
	}
	return "", false
}
