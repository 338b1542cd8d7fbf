// Package golang prints the bundles of a spec as Go tables: data, no logic.
//
// All bundles of a spec are one package, whose tables they share where they are alike. Layers that
// repeat are printed once (plan.Expand lists them). A bundle for GPUs that run PTX alone keeps no source in
// the repository, only the hash that its PTX must bear (Bundle.SourceHash): mlagen ptx prints the
// source again, and so do the tests that parse, run or compile it.
package golang

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"mla/gen/target"
	"mla/runtime/plan"
)

// File is one generated file.
type File struct {
	Name string // path relative to the package's folder
	Data []byte
}

// Kept is what the tables have of a bundle: all of it, but for the source of one that Metal
// devices do not run. PTX of that is made when it is wanted, and a program only compares
// what the PTX was made from.
func Kept(b *plan.Bundle) *plan.Bundle {
	if b.Class != target.PTXClass {
		return b
	}
	kept := *b
	kept.Source, kept.SourceHash = "", b.SourceSum()
	return &kept
}

// SourceFile is the name of a bundle's Metal source, which lies beside the Go files and is
// embedded, if it is kept. Bundles that differ in their activations alone share it, and so do
// a model and its layer that predicts.
func SourceFile(b *plan.Bundle) string {
	return stem(b) + b.Class + SourceSuffix
}

// stem is what the names of all bundles of b's spec begin with.
func stem(b *plan.Bundle) string {
	name := strings.TrimSuffix(strings.TrimSuffix(b.Name, b.Class), ActSuffix(b))
	return strings.TrimSuffix(name, strings.ToLower(nextN(b)))
}

// SourceSuffix ends the names of Metal sources.
const SourceSuffix = ".metal"

// ActSuffix is what a bundle's name says of its activations.
func ActSuffix(b *plan.Bundle) string {
	if b.Activations == plan.ElemF32 {
		return ""
	}
	return b.Act()
}

// files are the Go files, with their tables.
var files = []struct {
	name   string
	tables []table
}{
	{"zmodel.go", []table{
		{"Model", "model", "model is what a file must have to fit.", plain},
		{"RopeFreqs", "ropeFreqs", "ropeFreqs are the angles per position, in radians.", plain},
	}},
	{"zweights.go", []table{
		{"Weights", "weights", "weights lists every tensor: role, GGUF name, shape, layers, the kernel that binds it, the types covered.", weights},
		{"Profiles", "profiles", "profiles lists the quant profiles: per weight one type for all layers, or one per layer.", profiles},
		{"Joined", "joined", "joined lists what the host makes the inputs of a layer that predicts of; models have none.", weights},
	}},
	{"zkernels.go", []table{
		{"Kernels", "kernels", "kernels lists every fused kernel: slots, parts, and one variant per combination of types.", nil},
	}},
	{"zdispatch.go", []table{
		{"Sequences", "sequences", "sequences are one row, then several at once: every dispatch in order, with the memory that it touches.", nil},
		{"Pick", "picking", "picking picks tokens after rows by their logits.", sequence},
	}},
}

// Print returns the Go files of a package that holds the bundles of one spec, in a fixed
// order. Tables that several bundles have alike are there once.
func Print(pkg string, bundles []*plan.Bundle, header string) ([]File, error) {
	bundles = ordered(bundles)
	for i, b := range bundles {
		bundles[i] = Kept(b)
	}
	p := &printer{bundles: bundles, consts: kernelConsts(bundles), vars: map[string][]string{}}
	var out []File
	for i := range files {
		for _, t := range files[i].tables {
			p.vars[t.field] = p.share(t)
		}
	}
	for i := range files {
		f := jen.NewFile(pkg)
		f.HeaderComment(header)
		f.ImportName(planPath, "plan")
		f.ImportName(quantPath, "quant")
		switch files[i].name {
		case "zmodel.go":
			p.model(f, pkg)
		case "zkernels.go":
			shortValues(f)
			p.constants(f)
			p.shareKernels(f)
		case "zdispatch.go":
			shortNames(f)
		}
		for _, t := range files[i].tables {
			p.table(f, t)
		}
		var buf bytes.Buffer
		if err := f.Render(&buf); err != nil {
			return nil, fmt.Errorf("golang: %s: %w", files[i].name, err)
		}
		out = append(out, File{files[i].name, buf.Bytes()})
	}
	return out, nil
}

// printer prints some bundles.
type printer struct {
	bundles []*plan.Bundle
	consts  [][]string          // per bundle, the constants of its kernels
	vars    map[string][]string // by field of the bundle: per bundle, the variable that holds it

	docs, slots, types shared // of kernels
}

// share names the variable of a table for each bundle: that of an earlier bundle whose
// table is the same, or one of its own.
func (p *printer) share(t table) []string {
	var vars []string
	for i, b := range p.bundles {
		name := t.variable + suffix(b)
		if t.field == "Joined" && len(b.Joined) == 0 {
			vars = append(vars, "")
			continue
		}
		for j, other := range p.bundles[:i] {
			if vars[j] != "" && reflect.DeepEqual(t.value(b), t.value(other)) {
				name = vars[j]
				break
			}
		}
		vars = append(vars, name)
	}
	return vars
}

// table prints a table of all bundles, each variable once.
func (p *printer) table(f *jen.File, t table) {
	done := map[string]bool{}
	for i, b := range p.bundles {
		name := p.vars[t.field][i]
		if done[name] || name == "" {
			continue
		}
		if len(done) == 0 {
			f.Comment(t.comment)
		} else {
			f.Line()
		}
		var value jen.Code
		switch {
		case t.print != nil:
			value = t.print(reflect.ValueOf(t.value(b)), p.consts[i])
		case t.field == "Kernels":
			value = p.kernels(i)
		default:
			value = p.sequences(i)
		}
		f.Var().Id(name).Op("=").Add(value)
		done[name] = true
	}
}

// model prints the bundles themselves; their tables are variables.
func (p *printer) model(f *jen.File, pkg string) {
	f.PackageComment(fmt.Sprintf("Package %s holds the compiled bundles of one model: data for the runtime to replay.", pkg))
	var list []jen.Code
	known := map[string]bool{}
	for i, b := range p.bundles {
		source, file := "source"+title(b.Class), SourceFile(b)
		if b.SourceHash == "" && !known[file] {
			f.Anon("embed")
			f.Comment("//go:embed " + file)
			f.Var().Id(source).String()
			known[file] = true
		}
		list = append(list, jen.Values(p.bundle(i, source)))
	}
	f.Comment("Bundles are the compiled model, for each kind of activations and class of devices.")
	f.Var().Id("Bundles").Op("=").Index().Op("*").Qual(planPath, "Bundle").Add(rows(list))
}

// bundle prints the fields of the i-th bundle.
func (p *printer) bundle(i int, source string) jen.Dict {
	b := p.bundles[i]
	fields := jen.Dict{
		jen.Id("Name"):        jen.Lit(b.Name),
		jen.Id("Spec"):        jen.Lit(b.Spec),
		jen.Id("SpecHash"):    jen.Lit(b.SpecHash),
		jen.Id("Activations"): literal(reflect.ValueOf(b.Activations)),
		jen.Id("RopeMScale"):  jen.Lit(b.RopeMScale),
	}
	if b.SourceHash == "" {
		fields[jen.Id("Source")] = jen.Id(source)
	} else {
		fields[jen.Id("SourceHash")] = jen.Lit(b.SourceHash)
	}
	for field, vars := range p.vars {
		if vars[i] != "" {
			fields[jen.Id(field)] = jen.Id(vars[i])
		}
	}
	if b.Class != "" {
		fields[jen.Id("Class")] = jen.Lit(b.Class)
	}
	if b.MaxBatch > 0 {
		fields[jen.Id("MaxBatch")] = jen.Lit(b.MaxBatch)
	}
	if b.PickBytes > 0 {
		fields[jen.Id("PickBytes")] = jen.Lit(int(b.PickBytes))
	}
	if b.Counters > 0 {
		fields[jen.Id("Counters")] = jen.Lit(int(b.Counters))
	}
	return fields
}

// constants prints the indices of kernels, once for bundles with the same kernels.
func (p *printer) constants(f *jen.File) {
	done := map[string]bool{}
	for _, consts := range p.consts {
		if len(consts) == 0 || done[consts[0]] {
			continue
		}
		done[consts[0]] = true
		var names []jen.Code
		for i, c := range consts {
			name := jen.Id(c)
			if i == 0 {
				name = name.Op("=").Iota()
			}
			names = append(names, name)
		}
		f.Const().Defs(names...)
	}
}
