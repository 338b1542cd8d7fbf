// Package golang prints a plan.Bundle as Go tables: data, no logic.
package golang

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"mla/runtime/plan"
)

// File is one generated file.
type File struct {
	Name string // path relative to the bundle's folder
	Data []byte
}

// Print returns the Go files of a bundle, in a fixed order. kernels.metal lies
// beside them and is embedded.
func Print(b *plan.Bundle, header string) ([]File, error) {
	consts := kernelConsts(b)
	tables := []struct {
		name string
		fill func(f *jen.File)
	}{
		{"zmodel.go", func(f *jen.File) { model(f, b) }},
		{"zweights.go", func(f *jen.File) { weightTable(f, b) }},
		{"zkernels.go", func(f *jen.File) { kernelTable(f, b, consts) }},
		{"zdispatch.go", func(f *jen.File) { dispatchTable(f, b, consts) }},
	}
	var files []File
	for _, t := range tables {
		f := jen.NewFile(b.Name)
		f.HeaderComment(header)
		f.ImportName(planPath, "plan")
		f.ImportName(quantPath, "quant")
		t.fill(f)
		var buf bytes.Buffer
		if err := f.Render(&buf); err != nil {
			return nil, fmt.Errorf("golang: %s: %w", t.name, err)
		}
		files = append(files, File{t.name, buf.Bytes()})
	}
	return files, nil
}

// model prints the bundle itself; its tables are variables of the other files.
func model(f *jen.File, b *plan.Bundle) {
	f.PackageComment(fmt.Sprintf("Package %s is the compiled bundle of one model: data for the runtime to replay.", b.Name))
	f.Anon("embed")
	f.Comment("//go:embed kernels.metal")
	f.Var().Id("source").String()
	f.Comment("Bundle is the compiled model.")
	fields := jen.Dict{
		jen.Id("Name"):        jen.Lit(b.Name),
		jen.Id("Spec"):        jen.Lit(b.Spec),
		jen.Id("SpecHash"):    jen.Lit(b.SpecHash),
		jen.Id("Model"):       literal(reflect.ValueOf(b.Model)),
		jen.Id("Activations"): literal(reflect.ValueOf(b.Activations)),
		jen.Id("Weights"):     jen.Id("weights"),
		jen.Id("Profiles"):    jen.Id("profiles"),
		jen.Id("RopeFreqs"):   literal(reflect.ValueOf(b.RopeFreqs)),
		jen.Id("RopeMScale"):  jen.Lit(b.RopeMScale),
		jen.Id("ArenaBytes"):  jen.Lit(int(b.ArenaBytes)),
		jen.Id("Kernels"):     jen.Id("kernels"),
		jen.Id("Decode"):      jen.Id("decode"),
		jen.Id("Head"):        jen.Lit(b.Head),
		jen.Id("Sample"):      jen.Id("sampling"),
		jen.Id("SampleBytes"): jen.Lit(int(b.SampleBytes)),
		jen.Id("Source"):      jen.Id("source"),
	}
	if b.Class != "" {
		fields[jen.Id("Class")] = jen.Lit(b.Class)
	}
	if b.Counters > 0 {
		fields[jen.Id("Counters")] = jen.Lit(int(b.Counters))
	}
	f.Var().Id("Bundle").Op("=").Op("&").Qual(planPath, "Bundle").Values(fields)
}

// rows prints a table with one line per entry.
func rows(entries []jen.Code) jen.Code {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, entries...)
}

func weightTable(f *jen.File, b *plan.Bundle) {
	f.Comment("weights lists every tensor: role, GGUF name, shape, layers, the kernel that binds it, the types covered.")
	f.Var().Id("weights").Op("=").Index().Qual(planPath, "Weight").Add(rows(elements(reflect.ValueOf(b.Weights))))
	f.Comment("profiles lists the quant profiles: per weight one type for all layers, or one per layer.")
	var profiles []jen.Code
	for _, p := range b.Profiles {
		profiles = append(profiles, jen.Values(jen.Id("Name").Op(":").Lit(p.Name),
			jen.Id("Types").Op(":").Index().Index().Qual(quantPath, "Type").Add(rows(elements(reflect.ValueOf(p.Types))))))
	}
	f.Var().Id("profiles").Op("=").Index().Qual(planPath, "Profile").Add(rows(profiles))
}

func kernelTable(f *jen.File, b *plan.Bundle, consts []string) {
	var names []jen.Code
	for i, c := range consts {
		name := jen.Id(c)
		if i == 0 {
			name = name.Op("=").Iota()
		}
		names = append(names, name)
	}
	f.Const().Defs(names...)
	var kernels []jen.Code
	for i := range b.Kernels {
		kernels = append(kernels, kernel(&b.Kernels[i]))
	}
	f.Comment("kernels lists every fused kernel: slots, parts, and one variant per combination of types.")
	f.Var().Id("kernels").Op("=").Index().Qual(planPath, "Kernel").Add(rows(kernels))
}

func kernel(k *plan.Kernel) jen.Code {
	fields := []jen.Code{
		jen.Id("Name").Op(":").Lit(k.Name),
		jen.Id("Doc").Op(":").Lit(k.Doc),
		jen.Id("Threads").Op(":").Lit(k.Threads),
		jen.Id("Slots").Op(":").Index().Qual(planPath, "Slot").Add(rows(elements(reflect.ValueOf(k.Slots)))),
	}
	if len(k.Args) > 0 {
		fields = append(fields, jen.Id("Args").Op(":").Add(literal(reflect.ValueOf(k.Args))))
	}
	fields = append(fields, jen.Id("Parts").Op(":").Index().Qual(planPath, "Part").Add(rows(elements(reflect.ValueOf(k.Parts)))))
	if len(k.Tails) > 0 {
		fields = append(fields, jen.Id("Tails").Op(":").Index().Qual(planPath, "Tail").Add(rows(elements(reflect.ValueOf(k.Tails)))))
	}
	return rows(append(fields,
		jen.Id("Variants").Op(":").Index().Qual(planPath, "Variant").Add(rows(elements(reflect.ValueOf(k.Variants))))))
}

func dispatchTable(f *jen.File, b *plan.Bundle, consts []string) {
	f.Comment("decode is one token: every dispatch in order, with the memory that it touches.")
	f.Var().Id("decode").Op("=").Add(sequence(b.Decode, consts))
	f.Comment("sampling picks the next token by the logits.")
	f.Var().Id("sampling").Op("=").Add(sequence(b.Sample, consts))
}

// sequence prints dispatches, those of layers that repeat once.
func sequence(list []plan.Dispatch, consts []string) jen.Code {
	runs := fold(list)
	if len(runs) == 1 && runs[0].Times == 1 {
		return dispatches(list, consts)
	}
	var entries []jen.Code
	for _, r := range runs {
		fields := []jen.Code{jen.Id("Times").Op(":").Lit(r.Times)}
		if r.Times > 1 {
			fields = append(fields, jen.Id("Layers").Op(":").Lit(r.Layers))
		}
		fields = append(fields, jen.Id("Dispatches").Op(":").Add(dispatches(r.Dispatches, consts)))
		entries = append(entries, jen.Qual(planPath, "Repeat").Values(fields...))
	}
	return jen.Qual(planPath, "Expand").Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, entries...)
}

func dispatches(list []plan.Dispatch, consts []string) jen.Code {
	var entries []jen.Code
	for _, d := range list {
		entries = append(entries, jen.Values(
			jen.Id("Kernel").Op(":").Id(consts[d.Kernel]),
			jen.Id("Layer").Op(":").Lit(d.Layer),
			jen.Id("Barrier").Op(":").Lit(d.Barrier),
			jen.Id("Operands").Op(":").Add(literal(reflect.ValueOf(d.Operands)))))
	}
	return jen.Index().Qual(planPath, "Dispatch").Add(rows(entries))
}

// kernelConsts names the kernels' indices: q_a_kv_a is kQAKvA.
func kernelConsts(b *plan.Bundle) []string {
	var names []string
	for _, k := range b.Kernels {
		name := "k"
		for _, word := range strings.Split(k.Name, "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		names = append(names, name)
	}
	return names
}
