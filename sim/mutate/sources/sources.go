// Package sources lists mutations of Go source, each with one mistake: a statement left out, a condition
// negated, a bound that is one too far, a number that is one too large. It does not change files: the caller
// builds with an overlay.
package sources

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutation is one mistake in a Go file.
type Mutation struct {
	// ID is FILE/FUNCTION/KIND/TEXT, where TEXT is the beginning of the changed text without spaces. A number
	// follows if the function contains the same text more than once.
	ID   string
	File string // path of the changed file, relative to root
	// Text is the changed content of the file.
	Text []byte
}

// List lists all mutations of the packages in folders, which are relative to root.
func List(root string, folders ...string) ([]Mutation, error) {
	var all []Mutation
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := In(folder+"/"+filepath.Base(path), text)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// In lists the mutations of one file.
func In(name string, text []byte) ([]Mutation, error) {
	l := &list{name: name, text: text, files: token.NewFileSet(), seen: map[string]int{}}
	file, err := parser.ParseFile(l.files, name, text, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			l.function = functionName(f)
			ast.Inspect(f.Body, l.visit)
		}
	}
	return l.all, nil
}

type list struct {
	name, function string
	text           []byte
	files          *token.FileSet
	seen           map[string]int // how often each ID was used
	all            []Mutation
}

// functionName returns a function's name with its receiver's type, as in runner.wait.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// flipped maps a comparison to the one that differs in whether it includes the bound.
var flipped = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "=="}

// visit lists the mutations of one node of the syntax tree.
func (l *list) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BlockStmt:
		l.statements(x.List)
	case *ast.CaseClause:
		l.statements(x.Body)
	case *ast.IfStmt:
		if c, ok := x.Cond.(*ast.BinaryExpr); !ok || c.Op != token.EQL && c.Op != token.NEQ { // == and != are flipped instead
			l.add("negate", x.Cond, x.Cond, "!("+l.source(x.Cond)+")")
		}
	case *ast.BinaryExpr:
		if by, ok := flipped[x.Op]; ok {
			l.replace("bound"+by, x, x.OpPos, len(x.Op.String()), by)
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(x.Value, 0, 64); x.Kind == token.INT && err == nil {
			l.add("number", x, x, fmt.Sprint(v+1))
		}
	}
	return true
}

// statements leaves out each statement that has only side effects.
func (l *list) statements(list []ast.Stmt) {
	for _, s := range list {
		switch x := s.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.IncDecStmt, *ast.ForStmt, *ast.RangeStmt:
			l.add("drop", s, s, "")
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				l.add("drop", s, s, "")
			}
		case *ast.IfStmt:
			if x.Else == nil {
				l.add("drop", s, s, "")
			}
		}
	}
}

// source returns the source text of a node.
func (l *list) source(n ast.Node) string {
	return string(l.text[l.offset(n.Pos()):l.offset(n.End())])
}

func (l *list) offset(p token.Pos) int { return l.files.Position(p).Offset }

// add appends a mutation that replaces a node. The text of show is used for its ID.
func (l *list) add(kind string, show, n ast.Node, by string) {
	l.replace(kind, show, n.Pos(), int(n.End()-n.Pos()), by)
}

// shown is the number of bytes of a statement's text in an ID.
const shown = 60

func (l *list) replace(kind string, show ast.Node, at token.Pos, length int, by string) {
	text := strings.Join(strings.Fields(l.source(show)), "_")
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	id := l.name + "/" + l.function + "/" + kind + "/" + text
	l.seen[id]++
	if n := l.seen[id]; n > 1 {
		id = fmt.Sprintf("%s#%d", id, n)
	}
	from := l.offset(at)
	changed := append(append(append([]byte{}, l.text[:from]...), by...), l.text[from+length:]...)
	l.all = append(l.all, Mutation{id, l.name, changed})
}
