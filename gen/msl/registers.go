package msl

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Registers estimates the 32-bit registers that a thread of one form of attention holds in its loop over the
// cache. It counts the variables in the source. A compiler may need more, or fewer.
type Registers struct {
	Form         string     // MatrixForm or PlainForm
	Cache        quant.Type // type of cache; PlainForm also runs caches without a matrix form
	Tile         int        // cache rows at a time
	Accumulators int        // sums for results and scores
	Fragments    int        // elements of queries and cache rows
	Loads        int        // cache rows in flight
	Addresses    int        // and other values of the softmax and the loop
}

// The forms of attention.
const (
	MatrixForm = "matrix" // for caches of halves and of Q8_0
	PlainForm  = "plain"  // for caches of floats, and for shapes that have no matrix form
)

// Held returns everything but addresses. Budgets bound it.
func (r *Registers) Held() int { return r.Accumulators + r.Fragments + r.Loads }

// Total returns Held and addresses.
func (r *Registers) Total() int { return r.Held() + r.Addresses }

// loopRegisters counts five pointers (cache, page, block table, results, maxima and sums) of
// two registers, and ten numbers: row, end, newest row, last and following page, scale,
// scratch, split, simdgroup and lane.
const loopRegisters = 5*2 + 10

// matrixRegisters estimates the matrix form for all heads. A simdgroup has keys blocks of columns, of which
// values are latent. Of each block of 8 × 8 a lane has two elements: one register for halves (cache rows and
// queries), two for floats (sums). Devices whose right operands are laid out differently from left ones hold
// rows*values more.
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

// plainRegisters estimates the plain form. A thread has its columns of queries and results in floats; cache
// rows pass through threadgroup memory.
func (a *attention) plainRegisters() Registers {
	return Registers{Form: PlainForm, Tile: a.Tile, Accumulators: a.Sums + 1, Fragments: a.Queries, Loads: 1, Addresses: loopRegisters}
}

// AttentionRegisters estimates the forms of an attention kernel in a bundle for t. For other kernels it
// returns nil.
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

// attends returns the attention part of a kernel with no other part, and whether k is such a kernel.
func attends(k *plan.Kernel) (*plan.Attend, bool) {
	if len(k.Parts) != 1 {
		return nil, false
	}
	p, ok := k.Parts[0].(*plan.Attend)
	return p, ok
}

// Budget returns how many registers the form may hold.
func (r *Registers) Budget(b *target.Budget) int {
	switch {
	case r.Form == MatrixForm:
		return b.Matrix(r.Cache)
	case b.Plain > 0:
		return b.Plain
	}
	return b.Registers
}

// Keeps reports whether the estimate for a number of threads is within a budget.
func (r *Registers) Keeps(b *target.Budget, threads int) bool {
	return r.Held() <= r.Budget(b) && threads <= b.Threads
}

// Smaller returns the number of threads of a kernel that computes the same as attention kernel k of a bundle
// for t and is within budget b. It tries k's number, then larger ones, then smaller ones. It returns 0 if k
// itself is within the budget, or if no number of threads is.
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

// candidates lists the numbers of threads up to the budget's: rising from from, then falling from there.
func candidates(b *target.Budget, from int) (list []int) {
	for threads := from; threads <= b.Threads; threads += simdWidth {
		list = append(list, threads)
	}
	for threads := min(from, b.Threads+simdWidth) - simdWidth; threads >= simdWidth; threads -= simdWidth {
		list = append(list, threads)
	}
	return list
}
