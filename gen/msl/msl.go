// Package msl prints the Metal source of a bundle. The text is in templates/msl: lib has Metal source that
// bundles share, and parts has templates of kernels' bodies. This package chooses files and templates, and
// fills in constants. For each variant it writes a short kernel function, which calls the body of its kernel.
//
// Everything but the kernels is in namespace mla, so that no helper clashes with a name of Metal's library.
// Kernels have the names that the Go tables give them.
//
// The output keeps to a subset of MSL 3.1 that the front end in gen/msl/frontend checks: every pointer has an
// address space, and there are no kernel templates, no doubles and no infinities.
//
// # Tokens that run at once
//
// A spec is compiled once for each of its sequences, which run a number of rows, one row a token. An op runs
// for all rows before the next op does. So there is no causal mask: first all rows store their cache rows,
// then each row attends to as many cache rows as its position allows. An unused row has NKV 0, and nothing is
// stored for it.
//
//   - Up to four rows keep the kernels of one row (the table fews of gen/target). Mat-vecs decode their weights
//     once for the inputs of all rows (inputs.go), and each row's logits are those that it has alone.
//   - More rows, and the largest matrices, are products on simdgroup matrices (lib/product.metal).
//     Lanes decode blocks of weights into left operands; inputs are right operands, which come from threadgroup memory.
//   - In a batch each simdgroup has tiles of its own (batch_product.metal). In a prompt all
//     simdgroups share a tile of inputs (prompt_product.metal).
//   - Devices with asynchronous copies have the next weights in threadgroup memory, too
//     (weight_rows.metal, groupMemories in threadgroup.go).
//   - Experts are multiplied by the rows that selected them. In a prompt an expert has threadgroups
//     of its own. In a batch, persistent threadgroups share the tiles of all experts
//     (experts_batch.msl).
//   - All other parts run the text of one row on pointers to a row's vectors (rows.go).
//
// # Formats
//
// A format is a struct in lib/quant. Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K and Q5_K multiply halves:
// four products to a sum of halves, and these sums in floats, in an order that linalg.RowsHalves
// repeats. The other formats multiply floats. K-quants are templates over how many lanes share a
// block. Formats with a code book (IQ1 to IQ3) share lib/weights/grids.metal.
//
// # The library
//
// The library is printed once, to generated/library.metal. A bundle's own file names the library
// files that it uses, and generated.Bundles joins both. A bundle file has the whole source. Bundles
// that differ in their activations alone share a source, in which MLA_ACT is the type. So do a model
// and its MTP layer.
package msl

import (
	"fmt"
	"strings"
	"text/template"

	"mla/gen/msl/mark"
	"mla/runtime/plan"
	"mla/templates"
)

// Print returns the Metal source of a bundle: header, the sections of the library that it uses, and its
// kernels. It fails for a part that exceeds a limit of the GPU or of its template.
func Print(b *plan.Bundle, header string) (string, error) {
	tmpl, err := template.ParseFS(templates.MSL, "msl/parts/*.msl")
	if err != nil {
		return "", err
	}
	p := &printer{bundle: b, tmpl: tmpl, funcs: map[string]bool{}}
	p.line(header)
	p.line("// What is not a kernel comes from templates/msl, where it is explained.")
	p.library()
	p.line(closeNamespace)
	for i := range b.Kernels {
		if err := p.kernel(&b.Kernels[i]); err != nil {
			return "", fmt.Errorf("kernel %s: %w", b.Kernels[i].Name, err)
		}
	}
	if p.err != nil {
		return "", p.err
	}
	return mark.Source(p.out.String())
}

// printer collects the output. err is the first failure.
type printer struct {
	bundle *plan.Bundle
	tmpl   *template.Template
	funcs  map[string]bool // names of functions printed so far
	out    strings.Builder
	err    error
}

func (p *printer) line(s string) { p.out.WriteString(s + "\n") }

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// render fills in a template.
func (p *printer) render(name string, data any) string {
	var text strings.Builder
	if p.err == nil {
		p.err = p.tmpl.ExecuteTemplate(&text, name, data)
	}
	return text.String()
}

// elemType returns the MSL type of a buffer's elements. Buffers of weights are bytes.
func (p *printer) elemType(e plan.Elem) string {
	return elemTypes[e]
}

var elemTypes = [...]string{
	plan.ElemF32:     "float",
	plan.ElemF16:     "half",
	plan.ElemAct:     "act_t",
	plan.ElemTyped:   "uchar",
	plan.ElemRoute:   "Routing",
	plan.ElemRow:     "Row",
	plan.ElemArgs:    "",
	plan.ElemU32:     "uint",
	plan.ElemCounter: "atomic_uint",
	plan.ElemPick:    "Pick",
	plan.ElemAdjust:  "Adjust",
}
