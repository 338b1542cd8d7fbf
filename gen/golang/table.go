package golang

import (
	"reflect"

	"github.com/dave/jennifer/jen"

	"mla/runtime/plan"
)

// table is a part of a bundle that several bundles of one spec may share.
type table struct {
	field    string // field of plan.Bundle
	variable string // name of the variable, with a suffix if bundles differ
	comment  string
	// print returns the value; consts are the names of the bundle's kernels. It is nil for Kernels and
	// Sequences, whose common values the printer prints once.
	print func(value reflect.Value, consts []string) jen.Code
}

func (t *table) value(b *plan.Bundle) any {
	return reflect.ValueOf(b).Elem().FieldByName(t.field).Interface()
}

// plain prints a value on one line.
func plain(v reflect.Value, _ []string) jen.Code { return literal(v) }

// rows prints a table with one line per entry.
func rows(entries []jen.Code) jen.Code {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, entries...)
}

func weights(v reflect.Value, _ []string) jen.Code {
	return jen.Index().Qual(planPath, "Weight").Add(rows(elements(v)))
}

func profiles(v reflect.Value, _ []string) jen.Code {
	var list []jen.Code
	for _, p := range v.Interface().([]plan.Profile) {
		list = append(list, jen.Values(jen.Id("Name").Op(":").Lit(p.Name),
			jen.Id("Types").Op(":").Index().Index().Qual(quantPath, "Type").Add(rows(elements(reflect.ValueOf(p.Types))))))
	}
	return jen.Index().Qual(planPath, "Profile").Add(rows(list))
}

// kernels prints the kernels of a bundle.
func (p *printer) kernels(bundle int) jen.Code {
	b := p.bundles[bundle]
	var list []jen.Code
	for i := range b.Kernels {
		list = append(list, p.kernel(&b.Kernels[i], p.consts[bundle]))
	}
	return jen.Index().Qual(planPath, "Kernel").Add(rows(list))
}

func (p *printer) kernel(k *plan.Kernel, consts []string) jen.Code {
	doc, slots, types := kernelValues(k)
	fields := []jen.Code{
		jen.Id("Name").Op(":").Lit(k.Name),
		jen.Id("Doc").Op(":").Add(p.docs.value("doc", doc)),
		jen.Id("Threads").Op(":").Lit(k.Threads),
		jen.Id("Slots").Op(":").Add(p.slots.value("slots", slots)),
	}
	if k.Width > 0 {
		fields = append(fields, jen.Id("Width").Op(":").Lit(k.Width))
	}
	if k.Class != "" {
		fields = append(fields, jen.Id("Class").Op(":").Lit(k.Class), jen.Id("Instead").Op(":").Id(consts[k.Instead]))
	}
	if len(k.Args) > 0 {
		fields = append(fields, jen.Id("Args").Op(":").Add(literal(reflect.ValueOf(k.Args))))
	}
	fields = append(fields, jen.Id("Parts").Op(":").Index().Qual(planPath, "Part").Add(rows(elements(reflect.ValueOf(k.Parts)))))
	return rows(append(fields, jen.Id("Variants").Op(":").Qual(planPath, "Variants").Call(jen.Lit(k.Name), p.types.value("types", types))))
}

// sequences prints the sequences of a bundle. A sequence that an earlier bundle has is printed as a reference
// to that one, because bundles of several classes often differ only in some sequences.
func (p *printer) sequences(bundle int) jen.Code {
	var list []jen.Code
	for _, q := range p.bundles[bundle].Sequences {
		if same := p.earlier(bundle, &q); same != nil {
			list = append(list, same)
			continue
		}
		fields := []jen.Code{jen.Id("Width").Op(":").Lit(q.Width), jen.Id("Head").Op(":").Lit(q.Head), jen.Id("ArenaBytes").Op(":").Lit(int(q.ArenaBytes)),
			jen.Id("Dispatches").Op(":").Add(sequence(reflect.ValueOf(q.Dispatches), p.consts[bundle]))}
		if q.Input != nil {
			fields = append(fields, jen.Id("Input").Op(":").Add(literal(reflect.ValueOf(q.Input))))
		}
		if q.Hidden != nil {
			fields = append(fields, jen.Id("Hidden").Op(":").Add(literal(reflect.ValueOf(q.Hidden))))
		}
		list = append(list, jen.Values(fields...))
	}
	if len(list) == 0 {
		return jen.Index().Qual(planPath, "Sequence").Parens(jen.Nil())
	}
	return jen.Index().Qual(planPath, "Sequence").Add(rows(list))
}

// earlier returns an expression for a sequence that an earlier bundle has, with the same kernels at other
// indices; nil if none has it.
func (p *printer) earlier(bundle int, q *plan.Sequence) jen.Code {
	vars := p.vars["Sequences"]
	for i, b := range p.bundles[:bundle] {
		if vars[i] == vars[bundle] {
			continue
		}
		for j := range b.Sequences {
			same, from, to := &b.Sequences[j], 0, 0
			if len(same.Dispatches) > 0 && len(q.Dispatches) > 0 {
				from, to = same.Dispatches[0].Kernel, q.Dispatches[0].Kernel
			}
			switch value := jen.Id(vars[i]).Index(jen.Lit(j)); {
			case !reflect.DeepEqual(same.Shifted(to-from), *q):
			case from == to:
				return value
			default:
				return value.Dot("Shifted").Call(jen.Id(p.consts[bundle][to]).Op("-").Id(p.consts[i][from]))
			}
		}
	}
	return nil
}

// sequence prints dispatches, with those of repeated layers once.
func sequence(v reflect.Value, consts []string) jen.Code {
	list := v.Interface().([]plan.Dispatch)
	runs := fold(list)
	if len(runs) == 0 || len(runs) == 1 && runs[0].Times == 1 {
		return dispatches(list, consts)
	}
	var entries []jen.Code
	for _, r := range runs {
		fields := []jen.Code{jen.Id("Times").Op(":").Lit(r.Times)}
		if r.Times > 1 {
			fields = append(fields, jen.Id("Layers").Op(":").Lit(r.Layers))
		}
		if r.More > 0 {
			fields = append(fields, jen.Id("More").Op(":").Lit(r.More))
		}
		fields = append(fields, jen.Id("Dispatches").Op(":").Add(dispatches(r.Dispatches, consts)))
		entries = append(entries, jen.Qual(planPath, "Repeat").Values(fields...))
	}
	return jen.Qual(planPath, "Expand").Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, entries...)
}
