package describe

import (
	"fmt"
	"io"
	"text/tabwriter"

	"mla/gen/msl"
	"mla/gen/target"
	"mla/runtime/plan"
)

// Attention is an estimate of the 32-bit registers that a thread of attention holds on a kernel class of
// devices; see msl.Registers.
type Attention struct {
	Kernel       string `json:"kernel"`
	Class        string `json:"class"` // kernel class; "": any device without one
	Form         string `json:"form"`
	Cache        string `json:"cache"`
	Threads      int    `json:"threads"`
	Tile         int    `json:"tile"` // cache rows at a time
	Accumulators int    `json:"accumulators"`
	Fragments    int    `json:"fragments"`
	Loads        int    `json:"loads"`
	Held         int    `json:"held"` // sum of the three above
	Budget       int    `json:"budget"`
	MostThreads  int    `json:"most_threads"`
	Addresses    int    `json:"addresses"`
	Over         bool   `json:"over"` // exceeds the budget, in registers or threads
}

// AttentionOf lists all forms of every attention kernel that each kernel class runs.
func AttentionOf(b *plan.Bundle) (list []Attention) {
	for _, budget := range target.For(b.Class).Budgets() {
		for i := range b.Kernels {
			if b.Kernels[i].Class != "" || b.Kernels[i].Width > 0 { // kernels of several rows hold the same
				continue
			}
			k := b.KernelFor(i, budget.Class)
			forms, _ := msl.AttentionRegisters(target.For(b.Class), k) // no error: the bundle was printed with this kernel
			for _, r := range forms {
				list = append(list, Attention{
					Kernel: k.Name, Class: budget.Class, Form: r.Form, Cache: r.Cache.String(), Threads: k.Threads, Tile: r.Tile,
					Accumulators: r.Accumulators, Fragments: r.Fragments, Loads: r.Loads, Held: r.Held(),
					Budget: r.Budget(budget), MostThreads: budget.Threads, Addresses: r.Addresses, Over: !r.Keeps(budget, k.Threads)})
			}
		}
	}
	return list
}

// registers writes the estimates for attention.
func (r *Report) registers(w io.Writer) error {
	if len(r.Attention) == 0 {
		return nil
	}
	fmt.Fprintln(w, "attention: 32-bit registers that a thread holds (estimated, "+target.Untried+"; addresses are not counted):")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "devices\tkernel\tform\tcache\tthreads\ttile\tsums\tfragments\tloads\theld\tbudget\taddresses\t\t")
	for _, a := range r.Attention {
		class, mark := a.Class, ""
		if class == "" {
			class = "any"
		}
		if a.Over {
			mark = "over"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", class, a.Kernel, a.Form, a.Cache, a.Threads, a.Tile,
			a.Accumulators, a.Fragments, a.Loads, a.Held, a.Budget, a.Addresses, mark)
	}
	fmt.Fprintln(t)
	return t.Flush()
}
