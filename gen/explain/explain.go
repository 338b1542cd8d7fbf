// Package explain explains the kernels of a bundle: which passes fused their ops, the decisions of these
// passes, the reason for the shape of the threadgroups, and what a dispatch waits for. For this it compiles
// the spec again, and records the program after each pass.
package explain

import (
	"fmt"
	"slices"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/msl"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/plan"
)

// Kernel is the explanation of one kernel. The same kernel for another width is a kernel of its own.
type Kernel struct {
	Name   string
	Width  int   // rows of the sequence
	Layers []int // layers with a dispatch of the kernel; -1: outside the layers
	Does   string
	Passes []string // passes that fused its ops, with their purposes
	Notes  []string // notes of passes on its ops
	Shape  string   // of its threadgroups, and the reason
	Waits  []string // what its dispatches wait for, each reason once; empty: nothing
	Types  string   // its variants
}

// Make explains the kernels of bundle b, which was compiled from s, in the order of their first dispatches.
func Make(s *spec.Spec, b *plan.Bundle) ([]Kernel, error) {
	var all []Kernel
	for _, width := range s.Widths() {
		t, err := watch(s, width)
		if err != nil {
			return nil, err
		}
		all = append(all, t.kernels(b, sequence(b, width))...)
	}
	return all, nil
}

// sequence returns the bundle's sequence for a number of rows, or that of one row if it has none.
func sequence(b *plan.Bundle, width int) *plan.Sequence {
	for i := range b.Sequences {
		if b.Sequences[i].Width == width {
			return &b.Sequences[i]
		}
	}
	return b.Decode()
}

// trace is a program, and the launch of each op after every pass.
type trace struct {
	program *ir.Program
	after   []stage
}

// stage has the index of each op's launch after a pass.
type stage struct {
	pass   string
	launch map[*ir.Op]int
}

// watch compiles a program, and records it after each pass.
func watch(s *spec.Spec, width int) (*trace, error) {
	t := &trace{program: lower.Lower(s, width)}
	err := pass.Compile(t.program, pass.Options{Observe: func(name string, p *ir.Program) error {
		at := map[*ir.Op]int{}
		for i, s := range p.Launches {
			for _, op := range s.Ops() {
				at[op] = i
			}
		}
		t.after = append(t.after, stage{name, at})
		return nil
	}})
	return t, err
}

// kernels explains the kernels of a sequence. Its dispatches correspond to the launches of the program,
// except the dispatch that gathers the wanted rows before the head.
func (t *trace) kernels(b *plan.Bundle, q *plan.Sequence) []Kernel {
	var list []Kernel
	at := map[int]int{} // index in the list, by index of the kernel
	launches := t.program.Launches
	for i := range q.Dispatches {
		d := &q.Dispatches[i]
		k := &b.Kernels[d.Kernel]
		n, known := at[d.Kernel]
		if !known {
			n = len(list)
			at[d.Kernel] = n
			list = append(list, Kernel{Name: k.Name, Width: q.Width, Does: k.Doc, Types: types(k)})
		}
		e := &list[n]
		e.Layers = append(e.Layers, d.Layer)
		if q.Width > 1 && i == q.Head {
			e.Shape = shapeOf(k)
			continue
		}
		s := launches[0]
		launches = launches[1:]
		if !known {
			e.Passes, e.Notes, e.Shape = t.passes(s), notes(s), t.shape(k, s)
		}
		if s.Why != "" && !slices.Contains(e.Waits, s.Why) {
			e.Waits = append(e.Waits, s.Why)
		}
	}
	return list
}

// passes lists the passes that fused ops of a launch, or added one, with their purposes.
func (t *trace) passes(s *ir.Launch) (list []string) {
	ops := s.Ops()
	for i := 1; i < len(t.after); i++ {
		if name := t.after[i].pass; !slices.Equal(firsts(ops, &t.after[i-1]), firsts(ops, &t.after[i])) {
			p := slices.IndexFunc(pass.Pipeline, func(p pass.Pass) bool { return p.Name == name })
			list = append(list, name+": "+pass.Pipeline[p].Doc)
		}
	}
	return list
}

// firsts returns for each op the index of the first of ops in the same launch; -1 if the op did not exist
// yet.
func firsts(ops []*ir.Op, at *stage) []int {
	first := make([]int, len(ops))
	for i, op := range ops {
		n, ok := at.launch[op]
		if !ok {
			first[i] = -1
			continue
		}
		first[i] = slices.IndexFunc(ops, func(o *ir.Op) bool {
			m, ok := at.launch[o]
			return ok && m == n
		})
	}
	return first
}

// notes returns the notes that passes have left on a launch's ops.
func notes(s *ir.Launch) (list []string) {
	for _, op := range s.Ops() {
		list = append(list, op.Notes...)
	}
	return list
}

// shape describes the shape of a kernel's threadgroups, and the reason for it.
func (t *trace) shape(k *plan.Kernel, s *ir.Launch) string {
	text := shapeOf(k)
	tuning := &t.program.Spec.Tuning
	rows, cols := t.program.Results(s)
	switch {
	case s.Parts[0].Find(ir.AttendSplit) != nil:
		return text + fmt.Sprintf("; tuning.attention: splits %d, tile %d, simdgroups %d%s", tuning.Attention.Splits, tuning.Attention.Tile, tuning.Attention.Simdgroups, registers(t.program.Target(), k))
	case rows == 0:
		return text
	}
	shape := t.program.Shape(s)
	text += fmt.Sprintf(": rows_per_simdgroup %d, simdgroups %d, split_k %d", shape.RowsPerSimdgroup, shape.Simdgroups, max(shape.SplitK, 1))
	if t.program.Matrices(s) && t.program.BatchExperts(s) {
		return text + "; " + t.program.Target().WhyExperts()
	}
	if t.program.Matrices(s) {
		return text + "; " + t.program.Target().WhyProduct(t.program.Rows(s), rows, cols)
	}
	if t.program.Few(s) {
		return text + "; " + t.whyFew(s.Name(), t.program.Rows(s))
	}
	return text + fmt.Sprintf(", unroll %d; ", shape.Unroll) + t.whyMatVec(s.Name(), rows, cols)
}

// whyFew gives the reason why a kernel of several rows is the mat-vec of one row.
func (t *trace) whyFew(name string, width int) string {
	if k := t.program.Spec.Tuning.OfWidth(name, width); k != nil {
		return fmt.Sprintf("as of one row, for the inputs of %d: %s", width, tuned(k))
	}
	return t.program.Target().WhyFew(width)
}

// whyMatVec gives the reason for the shape of a mat-vec.
func (t *trace) whyMatVec(name string, rows, cols int) string {
	why := t.program.Target().WhyMatVec(rows, cols)
	if k := t.program.Spec.Tuning.Of(name, t.program.Width); k != nil {
		return fmt.Sprintf("%s; what it leaves open is %s", tuned(k), why)
	}
	return why
}

// tuned says where the tuning has an entry, and where the entry comes from.
func tuned(k *spec.KernelShape) string {
	if found := k.Found.String(); found != "" {
		return fmt.Sprintf("%s, under tuning, %s", k.At(), found)
	}
	return k.At() + ", under tuning"
}

// shapeOf returns the number of threadgroups and threads of a dispatch, for people.
func shapeOf(k *plan.Kernel) string {
	return fmt.Sprintf("%d threadgroups of %d threads", k.Groups(), k.Threads)
}

// registers returns how many registers the forms of attention hold, which bounds its tile and simdgroups.
func registers(on target.Target, k *plan.Kernel) (text string) {
	forms, err := msl.AttentionRegisters(on, k)
	if err != nil {
		return ""
	}
	for _, r := range forms {
		text += fmt.Sprintf("; the %s form on a cache of %v holds an estimated %d registers a thread", r.Form, r.Cache, r.Held())
	}
	return text
}

// types describes the variants of a kernel.
func types(k *plan.Kernel) string {
	if len(k.TypedSlots()) == 0 {
		return "one variant: it reads no weights or caches whose types differ"
	}
	text := fmt.Sprintf("%d variants, one for each combination of types that the quant profiles have:", len(k.Variants))
	for i, v := range k.Variants {
		if i == 6 {
			return text + " …"
		}
		text += " " + v.Func
	}
	return text
}
