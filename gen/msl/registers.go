package msl

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

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

// matrixRegisters is of the matrix form for a number of heads, whose simdgroups have keys blocks of columns,
// values of them latent. A lane has two elements of each block of 8 × 8: of halves,
// which rows and queries are, one register, and of floats, which sums are, two. Devices whose right
// operands are other blocks than left ones hold rows*values more.
func matrixRegisters(all, threads, tile, keys, values int, cache quant.Type) Registers {
	load := cacheLoads[cache]
	heads, rows := ceil(all, block), tile/block
	valueLoads, valueRegisters := load.loads(tile, values)
	keyLoads, keyRegisters := load.loads(tile, keys-values)
	loads := valueLoads + keyLoads
	turns := ceil(all*tile, threads) // of softmax, with a reference and a sum each
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

// AttentionRegisters estimates the forms of an attention kernel in a bundle for t; none of others.
func AttentionRegisters(t target.Target, k *plan.Kernel) ([]Registers, error) {
	if len(k.Parts) != 1 {
		return nil, nil
	}
	var a *attention
	var err error
	switch p := k.Parts[0].(type) {
	case *plan.Attend:
		a, err = attentionShape(p, k.Threads, t.Budget(k.Class))
	case *plan.AttendHeads:
		if t.Parts() {
			return []Registers{headPartsRegisters(p, k.Threads)}, nil
		}
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

// Budget is how many registers the form may hold.
func (r *Registers) Budget(b *target.Budget) int {
	switch {
	case r.Form == MatrixForm:
		return b.Matrix(r.Cache)
	case b.Plain > 0:
		return b.Plain
	}
	return b.Registers
}

// Keeps says whether the estimate for a given number of threads keeps to a budget.
func (r *Registers) Keeps(b *target.Budget, threads int) bool {
	return r.Held() <= r.Budget(b) && threads <= b.Threads
}

// Smaller is how many threads a kernel has to have that does what attention kernel k of a bundle for t
// does and keeps to a budget: as many as k, the next more, or the next fewer, with
// which all forms keep to it. It is 0 where k keeps to it, and where nothing does.
func Smaller(t target.Target, b *target.Budget, k *plan.Kernel) (threads int, err error) {
	p, ok := attends(k)
	if !ok {
		return 0, nil
	}
	a, err := attentionShape(p, k.Threads, t.Budget(k.Class))
	if err != nil || a.keeps(b, k.Threads) {
		return 0, err
	}
	for _, threads := range candidates(b, k.Threads) {
		other, err := attentionShape(p, threads, b)
		if err == nil && other.keeps(b, threads) && len(other.Matrix) == len(a.Matrix) {
			return threads, nil
		}
	}
	return 0, nil
}

func (a *attention) keeps(b *target.Budget, threads int) bool {
	return !slices.ContainsFunc(a.forms(), func(r Registers) bool { return !r.Keeps(b, threads) })
}

// candidates are numbers of threads up to the budget's, from some on upwards, then
// downwards.
func candidates(b *target.Budget, from int) (list []int) {
	for threads := from; threads <= b.Threads; threads += simdWidth {
		list = append(list, threads)
	}
	for threads := min(from, b.Threads+simdWidth) - simdWidth; threads >= simdWidth; threads -= simdWidth {
		list = append(list, threads)
	}
	return list
}
