package msl

import (
	"slices"

	"mla/runtime/plan"
)

// Budget is what attention may take on a class of devices.
type Budget struct {
	Class     string // a kernel class; "": devices of any class without a budget of its own
	Registers int    // of 32 bits that a thread holds, see Registers.Held
	Threads   int    // in a threadgroup
}

// Budgets is the table of classes.
var Budgets = []Budget{
	// From family Apple9 on, registers come from a memory that threads share as they need
	// them, and an NVIDIA GPU has up to 255: a bound that keeps tiles small.
	{"", 128, maxThreads},
	// 128 is all that a thread has, and what does not fit goes to memory: a quarter is left
	// for addresses, for softmax and for the compiler (rule 25). Public measurements of the
	// M1 find room for 384 threads with all registers in a core, so that so many can
	// always be launched. Not measured on Apple hardware.
	{plan.ClassApple7, 96, 384},
}

// budgetOf is the budget of a kernel class.
func budgetOf(class string) *Budget {
	i := slices.IndexFunc(Budgets, func(b Budget) bool { return b.Class == class })
	return &Budgets[max(i, 0)]
}

// Registers is an estimate of the 32-bit registers that a thread of one form of
// attention holds while it walks over the cache. It counts what the source keeps in
// variables; a compiler may need more, or fewer.
type Registers struct {
	Form         string // MatrixForm or PlainForm
	Tile         int    // cache rows at a time
	Accumulators int    // sums of results and of scores
	Fragments    int    // of queries and cache rows
	Loads        int    // cache rows that are on their way
	Addresses    int    // and the softmax's and the loop's own values
}

// The forms of attention.
const (
	MatrixForm = "matrix" // for caches of halves
	PlainForm  = "plain"  // for caches of floats, and for shapes that have no matrix form
)

// Held is what budgets count: everything but addresses.
func (r *Registers) Held() int { return r.Accumulators + r.Fragments + r.Loads }

// Total is Held and addresses.
func (r *Registers) Total() int { return r.Held() + r.Addresses }

// loopRegisters are five pointers (cache, page, block table, results, maxima and sums) of
// two registers, and ten numbers: row, end, newest row, last and following page, scale,
// scratch, split, simdgroup and lane.
const loopRegisters = 5*2 + 10

// matrixRegisters is of the matrix form, whose simdgroups have keys blocks of columns,
// values of them latent. A lane has two elements of each block of 8 × 8: of halves,
// which rows and queries are, one register, and of floats, which sums are, two.
func matrixRegisters(p *plan.Attend, threads, tile, keys, values int) Registers {
	heads, rows := ceil(p.Heads, block), tile/block
	loads := ceil(tile*values, simdWidth) + ceil(tile*(keys-values), simdWidth) // of 16 bytes
	turns := ceil(p.Heads*tile, threads)                                        // of softmax, with a reference and a sum each
	return Registers{
		Form: MatrixForm, Tile: tile,
		Accumulators: 2*values*heads + 2*rows*heads,
		Fragments:    queryTerms*keys*heads + rows*keys,
		Loads:        4 * loads,
		Addresses:    loopRegisters + loads + 2*turns,
	}
}

// plainRegisters is of the plain form: a thread has its columns of the queries and of the
// results in floats, and rows pass through threadgroup memory.
func (a *attention) plainRegisters() Registers {
	return Registers{Form: PlainForm, Tile: a.Tile, Accumulators: a.Sums + 1, Fragments: a.Queries, Loads: 1, Addresses: loopRegisters}
}

// AttentionRegisters estimates both forms of an attention kernel; none of others.
func AttentionRegisters(k *plan.Kernel) ([]Registers, error) {
	p, ok := attends(k)
	if !ok {
		return nil, nil
	}
	a, err := attentionShape(p, k.Threads, budgetOf(k.Class))
	if err != nil {
		return nil, err
	}
	return a.forms(), nil
}

func (a *attention) forms() []Registers {
	forms := []Registers{a.plainRegisters()}
	if a.Matrix != nil {
		forms = append(forms, a.Matrix.registers)
	}
	return forms
}

// attends is the part of a kernel that does nothing but attention.
func attends(k *plan.Kernel) (*plan.Attend, bool) {
	if len(k.Parts) != 1 || len(k.Tails) > 0 {
		return nil, false
	}
	p, ok := k.Parts[0].(*plan.Attend)
	return p, ok
}

// Keeps says whether an estimate for so many threads keeps to the budget.
func (b *Budget) Keeps(r *Registers, threads int) bool {
	return r.Held() <= b.Registers && threads <= b.Threads
}

// Smaller is how many threads a kernel has to have that does what attention kernel k
// does and keeps to the budget: as many as k, the next more, or the next fewer, with
// which both forms keep to it. It is 0 where k keeps to it, and where nothing does.
func (b *Budget) Smaller(k *plan.Kernel) (threads int, err error) {
	p, ok := attends(k)
	if !ok {
		return 0, nil
	}
	a, err := attentionShape(p, k.Threads, budgetOf(k.Class))
	if err != nil || b.keeps(a, k.Threads) {
		return 0, err
	}
	for _, threads := range b.candidates(k.Threads) {
		other, err := attentionShape(p, threads, b)
		if err == nil && b.keeps(other, threads) && (other.Matrix != nil) == (a.Matrix != nil) {
			return threads, nil
		}
	}
	return 0, nil
}

func (b *Budget) keeps(a *attention, threads int) bool {
	return !slices.ContainsFunc(a.forms(), func(r Registers) bool { return !b.Keeps(&r, threads) })
}

// candidates are numbers of threads up to the budget's, from some on upwards, then
// downwards.
func (b *Budget) candidates(from int) (list []int) {
	for threads := from; threads <= b.Threads; threads += simdWidth {
		list = append(list, threads)
	}
	for threads := min(from, b.Threads+simdWidth) - simdWidth; threads >= simdWidth; threads -= simdWidth {
		list = append(list, threads)
	}
	return list
}
