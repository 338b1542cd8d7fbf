package msl

import (
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Budget is what attention may take on a class of devices.
type Budget struct {
	Class     string // a kernel class; "": devices of any class without a budget of its own
	Registers int    // of 32 bits that a thread holds, see Registers.Held
	Scaled    int    // the same for the matrix form on a cache of Q8_0
	Threads   int    // in a threadgroup
}

// Budgets is the table of classes.
var Budgets = []Budget{
	// From family Apple9 on, registers come from a memory that threads share as they need
	// them, and an NVIDIA GPU has up to 255: a bound that keeps tiles small. A row of Q8_0 has
	// half the bytes of one of halves: tiles of twice the rows have as many under way, in
	// which most of the time of long contexts goes by.
	{"", 128, 160, maxThreads},
	// 128 is all that a thread has, and what does not fit goes to memory: a quarter is left
	// for addresses, for softmax and for the compiler (rule 25). Public measurements of the
	// M1 find room for 384 threads with all registers in a core, so that so many can
	// always be launched. Not measured on Apple hardware.
	{plan.ClassApple7, 96, 96, 384},
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
	Form         string     // MatrixForm or PlainForm
	Cache        quant.Type // that it serves; PlainForm also those without a matrix form
	Tile         int        // cache rows at a time
	Accumulators int        // sums of results and of scores
	Fragments    int        // of queries and cache rows
	Loads        int        // cache rows that are on their way
	Addresses    int        // and the softmax's and the loop's own values
}

// The forms of attention.
const (
	MatrixForm = "matrix" // for caches of halves and of Q8_0
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
// which rows and queries are, one register, and of floats, which sums are, two. NVIDIA GPUs,
// whose right operands are other blocks than left ones, hold rows*values more.
func matrixRegisters(p *plan.Attend, threads, tile, keys, values int, cache quant.Type) Registers {
	load := cacheLoads[cache]
	heads, rows := ceil(p.Heads, block), tile/block
	valueLoads, valueRegisters := load.loads(tile, values)
	keyLoads, keyRegisters := load.loads(tile, keys-values)
	loads := valueLoads + keyLoads
	turns := ceil(p.Heads*tile, threads) // of softmax, with a reference and a sum each
	return Registers{
		Form: MatrixForm, Cache: cache, Tile: tile,
		Accumulators: 2*values*heads + 2*rows*heads,
		Fragments:    queryTerms*keys*heads + rows*keys,
		Loads:        valueRegisters + keyRegisters,
		Addresses:    loopRegisters + loads + 2*turns,
	}
}

// plainRegisters is of the plain form: a thread has its columns of the queries and of the
// results in floats, and rows pass through threadgroup memory.
func (a *attention) plainRegisters() Registers {
	return Registers{Form: PlainForm, Tile: a.Tile, Accumulators: a.Sums + 1, Fragments: a.Queries, Loads: 1, Addresses: loopRegisters}
}

// AttentionRegisters estimates the forms of an attention kernel; none of others.
func AttentionRegisters(k *plan.Kernel) ([]Registers, error) {
	if len(k.Parts) != 1 {
		return nil, nil
	}
	var a *attention
	var err error
	switch p := k.Parts[0].(type) {
	case *plan.Attend:
		a, err = attentionShape(p, k.Threads, budgetOf(k.Class))
	case *plan.AttendHeads:
		return []Registers{headsRegisters(p, k.Threads)}, nil
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.forms(), nil
}

func (a *attention) forms() []Registers {
	forms := []Registers{a.plainRegisters()}
	for i := range a.Matrix {
		forms = append(forms, a.Matrix[i].registers)
	}
	return forms
}

// attends is the part of a kernel that does nothing but attention.
func attends(k *plan.Kernel) (*plan.Attend, bool) {
	if len(k.Parts) != 1 {
		return nil, false
	}
	p, ok := k.Parts[0].(*plan.Attend)
	return p, ok
}

// Of is how many registers a form may hold.
func (b *Budget) Of(r *Registers) int {
	if r.Form == MatrixForm {
		return b.matrix(r.Cache)
	}
	return b.Registers
}

// matrix is how many the matrix form may hold on a type of cache.
func (b *Budget) matrix(cache quant.Type) int {
	if cache == quant.Q8_0 {
		return b.Scaled
	}
	return b.Registers
}

// Keeps says whether an estimate for so many threads keeps to the budget.
func (b *Budget) Keeps(r *Registers, threads int) bool {
	return r.Held() <= b.Of(r) && threads <= b.Threads
}

// Smaller is how many threads a kernel has to have that does what attention kernel k
// does and keeps to the budget: as many as k, the next more, or the next fewer, with
// which all forms keep to it. It is 0 where k keeps to it, and where nothing does.
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
		if err == nil && b.keeps(other, threads) && len(other.Matrix) == len(a.Matrix) {
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
