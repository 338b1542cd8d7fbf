package golang

import (
	"reflect"

	"github.com/dave/jennifer/jen"

	"mla/runtime/plan"
)

// Dispatches and their operands are printed as calls of functions, which have short names in each package. So
// a table of 8,000 dispatches stays readable, and a clone of the repository is 400 kB smaller.

// functions are the short names of functions of package plan.
var functions = []struct{ name, function string }{
	{"after", "After"}, {"beside", "Beside"},
	{"at", "At"}, {"weight", "OfWeight"}, {"next", "OfNext"}, {"cache", "OfCache"}, {"args", "OfArgs"}, {"pick", "OfPick"}, {"counter", "OfCounter"},
}

// spaces are the short names of operands that consist only of a space.
var spaces = []struct {
	name  string
	space plan.Space
}{
	{"row", plan.SpaceRow}, {"rope", plan.SpaceRope}, {"tables", plan.SpaceTables}, {"logits", plan.SpaceLogits},
	{"wanted", plan.SpaceWanted}, {"heads", plan.SpaceHeads},
}

// shortNames prints the definitions of the short names.
func shortNames(f *jen.File) {
	var list []jen.Code
	for _, s := range functions {
		list = append(list, jen.Id(s.name).Op("=").Qual(planPath, s.function))
	}
	for _, s := range spaces {
		list = append(list, jen.Id(s.name).Op("=").Qual(planPath, "Of").Call(literal(reflect.ValueOf(s.space))))
	}
	f.Var().Defs(list...)
}

// operand prints an operand as the shortest expression.
func operand(o plan.Operand) jen.Code {
	call := func(name string, args ...int64) jen.Code {
		var list []jen.Code
		for _, a := range args {
			list = append(list, jen.Lit(int(a)))
		}
		return jen.Id(name).Call(list...)
	}
	switch o {
	case plan.At(o.Offset, o.Bytes):
		return call("at", o.Offset, o.Bytes)
	case plan.OfWeight(o.Index):
		return call("weight", int64(o.Index))
	case plan.OfNext(o.Index):
		return call("next", int64(o.Index))
	case plan.OfCache(o.Index):
		return call("cache", int64(o.Index))
	case plan.OfArgs(o.Bytes):
		return call("args", o.Bytes)
	case plan.OfPick(o.Offset, o.Bytes):
		return call("pick", o.Offset, o.Bytes)
	case plan.OfCounter(o.Offset, o.Bytes):
		return call("counter", o.Offset, o.Bytes)
	}
	for _, s := range spaces {
		if o == plan.Of(s.space) {
			return jen.Id(s.name)
		}
	}
	return literal(reflect.ValueOf(o))
}

func dispatches(list []plan.Dispatch, consts []string) jen.Code {
	var entries []jen.Code
	for _, d := range list {
		name := "beside"
		if d.Barrier {
			name = "after"
		}
		args := []jen.Code{jen.Id(consts[d.Kernel]), jen.Lit(d.Layer)}
		for _, o := range d.Operands {
			args = append(args, operand(o))
		}
		entries = append(entries, jen.Id(name).Call(args...))
	}
	if len(entries) == 0 {
		return jen.Index().Qual(planPath, "Dispatch").Parens(jen.Nil())
	}
	return jen.Index().Qual(planPath, "Dispatch").Add(rows(entries))
}
