// Package golang prints the bundles of a spec as Go tables: data, no logic.
//
// All bundles of a spec are one package, and share equal tables. Repeated layers are printed once;
// plan.Expand repeats them. A bundle for GPUs that run only PTX has no Metal source in the repository, only
// the hash that its PTX must contain (Bundle.SourceHash). mlagen ptx prints the source again, and so do tests
// that parse, run or compile it.
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

// Kept returns the part of a bundle that its tables have: all of it, but without the Metal source if no Metal
// device runs the bundle. A program needs only the hash of that source, to compare it with the one in the
// PTX.
func Kept(b *plan.Bundle) *plan.Bundle {
	if b.Class != target.PTXClass {
		return b
	}
	kept := *b
	kept.Source, kept.SourceHash = "", b.SourceSum()
	return &kept
}

// SourceFile returns the name of a bundle's Metal source, which lies beside the Go files and is embedded, if
// it is kept. Bundles that differ only in their activations share it, and so do a model and its
// multi-token-prediction layer.
func SourceFile(b *plan.Bundle) string {
	return stem(b) + b.Class + SourceSuffix
}

// stem returns the common beginning of the names of all bundles of b's spec.
func stem(b *plan.Bundle) string {
	name := strings.TrimSuffix(strings.TrimSuffix(b.Name, b.Class), ActSuffix(b))
	return strings.TrimSuffix(name, strings.ToLower(nextN(b)))
}

// SourceSuffix is the end of the names of Metal sources.
const SourceSuffix = ".metal"

// ActSuffix returns the part of a bundle's name that stands for its activations; "" for f32.
func ActSuffix(b *plan.Bundle) string {
	if b.Activations == plan.ElemF32 {
		return ""
	}
	return b.Act()
}

// files lists the Go files of a package, with their tables.
var files = []struct {
	name   string
	tables []table
}{
	{"zmodel.go", []table{
		{"Model", "model", "model has the dimensions that a model file must have.", plain},
		{"RopeFreqs", "ropeFreqs", "ropeFreqs are the RoPE frequencies, in radians per position.", plain},
	}},
	{"zweights.go", []table{
		{"Weights", "weights", "weights lists every tensor: role, GGUF name, shape, layers, the kernel that reads it, and the types supported.", weights},
		{"Profiles", "profiles", "profiles lists the quant profiles: for each weight one type for all layers, or one per layer.", profiles},
		{"Joined", "joined", "joined lists the tensors with which the host computes the inputs of a multi-token prediction layer.", weights},
	}},
	{"zkernels.go", []table{
		{"Kernels", "kernels", "kernels lists every fused kernel: slots, parts, and one variant per combination of types.", nil},
	}},
	{"zdispatch.go", []table{
		{"Sequences", "sequences", "sequences lists the dispatches in order, with the memory that each accesses: for one row, then for several rows at once.", nil},
		{"Pick", "picking", "picking lists the dispatches that sample tokens from the logits of rows.", sequence},
	}},
}

// Print returns the Go files of a package with the bundles of one spec, in a fixed order. A table that
// several bundles have is printed once.
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

// printer prints the bundles of one spec.
type printer struct {
	bundles []*plan.Bundle
	consts  [][]string          // for each bundle the constants of its kernels
	vars    map[string][]string // for each field of a bundle, and each bundle, the variable with its value

	docs, slots, types shared // of kernels
}

// share returns the variable of a table for each bundle: the variable of an earlier bundle with an equal
// table, or one of its own.
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

// table prints a table for all bundles, each variable once.
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

// model prints the bundles, whose tables are variables.
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
