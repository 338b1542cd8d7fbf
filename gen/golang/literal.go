package golang

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

const (
	planPath  = "mla/runtime/plan"
	quantPath = "mla/runtime/quant"
)

// enums has the names of the constants of package plan's enumerations, by value.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[plan.Elem]():  {"ElemF32", "ElemF16", "ElemAct", "ElemTyped", "ElemRoute", "ElemRow", "ElemArgs", "ElemU32", "ElemCounter", "ElemPick", "ElemAdjust"},
	reflect.TypeFor[plan.Space](): {"SpaceWeight", "SpaceArena", "SpaceKV", "SpaceRope", "SpaceRow", "SpaceTables", "SpaceLogits", "SpaceArgs", "SpaceCounters", "SpaceWanted", "SpacePick", "SpaceHeads", "SpaceState"},
}

// arena is the short name for plan.SpaceArena in each generated package: most slots have this space.
const arena = "arena"

// vec is the short name for plan.VecOf in each generated package.
const vec = "vec"

// slots lists the short names for the slots of most kernels, in each generated package.
var slots = []struct {
	name, of string
	slot     plan.Slot
}{
	{"rowSlot", "RowSlot", plan.RowSlot}, {"argsSlot", "ArgsSlot", plan.ArgsSlot}, {"tablesSlot", "TablesSlot", plan.TablesSlot},
}

// shortValues prints the definitions of arena, vec and the names of slots.
func shortValues(f *jen.File) {
	f.Const().Id(arena).Op("=").Qual(planPath, "SpaceArena")
	list := []jen.Code{jen.Id(vec).Op("=").Qual(planPath, "VecOf")}
	for _, s := range slots {
		list = append(list, jen.Id(s.name).Op("=").Qual(planPath, s.of))
	}
	f.Var().Defs(list...)
}

// short returns a value by its short name; nil: the value has none.
func short(v reflect.Value) *jen.Statement {
	if !v.CanInterface() {
		return nil
	}
	switch v := v.Interface().(type) {
	case plan.Space:
		if v == plan.SpaceArena {
			return jen.Id(arena)
		}
	case plan.Vec:
		if v == plan.VecOf(v.Slot, v.Stride) && v.Stride > 0 {
			return jen.Id(vec).Call(jen.Lit(v.Slot), jen.Lit(v.Stride))
		}
	case plan.Slot:
		for _, s := range slots {
			if v == s.slot {
				return jen.Id(s.name)
			}
		}
	}
	return nil
}

// literal prints any value of package plan as a Go literal on one line, without fields that are zero.
func literal(v reflect.Value) *jen.Statement {
	if s := short(v); s != nil {
		return s
	}
	if names, ok := enums[v.Type()]; ok {
		return jen.Qual(planPath, names[v.Uint()])
	}
	if v.Type() == reflect.TypeFor[quant.Type]() {
		return quantConst(quant.Type(v.Uint()))
	}
	switch v.Kind() {
	case reflect.Interface:
		return literal(v.Elem())
	case reflect.Pointer:
		return jen.Op("&").Add(whole(v.Elem()))
	case reflect.Struct:
		return whole(v)
	case reflect.Slice:
		return jen.Index().Add(typeName(v.Type().Elem())).Values(elements(v)...)
	case reflect.Int64, reflect.Int:
		return jen.Lit(int(v.Int()))
	case reflect.Float64:
		return jen.Lit(v.Float())
	case reflect.String, reflect.Bool:
		return jen.Lit(v.Interface())
	}
	panic(fmt.Sprintf("golang: no literal for %s", v.Type())) // a new type in package plan: a bug of this package
}

// whole returns a struct as a composite literal. Unlike a short name, & can take its address.
func whole(v reflect.Value) *jen.Statement {
	return jen.Qual(planPath, v.Type().Name()).Values(fields(v)...)
}

func quantConst(t quant.Type) *jen.Statement {
	return jen.Qual(quantPath, strings.ToUpper(t.String()))
}

// typeName returns a type as it is written in a composite literal.
func typeName(t reflect.Type) *jen.Statement {
	switch {
	case t.Kind() == reflect.Slice:
		return jen.Index().Add(typeName(t.Elem()))
	case t.PkgPath() == "":
		return jen.Id(t.Name())
	}
	return jen.Qual(t.PkgPath(), t.Name())
}

func fields(v reflect.Value) []jen.Code {
	var list []jen.Code
	for i := 0; i < v.NumField(); i++ {
		if f := v.Field(i); !f.IsZero() {
			list = append(list, jen.Id(v.Type().Field(i).Name).Op(":").Add(literal(f)))
		}
	}
	return list
}

// elements returns a slice's entries. Structs leave out their type, as gofmt -s does.
func elements(v reflect.Value) []jen.Code {
	var list []jen.Code
	for i := 0; i < v.Len(); i++ {
		list = append(list, element(v.Index(i)))
	}
	return list
}

func element(e reflect.Value) *jen.Statement {
	if s := short(e); s != nil {
		return s
	}
	switch e.Kind() {
	case reflect.Struct:
		return jen.Values(fields(e)...)
	case reflect.Slice:
		return jen.Values(elements(e)...)
	}
	return literal(e)
}
