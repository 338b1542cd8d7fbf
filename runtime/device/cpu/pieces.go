package cpu

import (
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// leastShared is the number of cache rows from which inBatches considers smaller batches. Tests change it.
var leastShared int64 = 1024

// inBatches says whether rows that fit a sequence with expanded heads run faster in smaller batches with
// latent attention. That is so where the expansion takes more than twice the operations that it saves in
// attention. Narrow sequences cost a core little; a GPU always takes the widest sequence.
func (r *runner) inBatches(sequence int, rows []plan.Row) bool {
	heads, latent := &r.pool.sequences[sequence], &r.pool.sequences[r.narrow()]
	if !heads.expands() || latent.width < 2 {
		return false
	}
	saved := latent.work.PairFlops - heads.work.PairFlops
	pairs, shared := int64(0), int64(0)
	for _, row := range rows {
		pairs += int64(row.NKV)
	}
	eachTable(rows, func(_ uint32, nkv int) { shared += int64(nkv) })
	return shared >= leastShared && 2*pairs*saved < shared*heads.work.CachedFlops
}

// expands says whether the sequence expands heads.
func (s *sequence) expands() bool { return s.work.CachedFlops > 0 }

// narrow is the index of the widest sequence with latent attention.
func (r *runner) narrow() int {
	i := slices.IndexFunc(r.pool.sequences, func(s sequence) bool { return s.expands() })
	return max(i-1, 0)
}

// batches runs rows in batches of a sequence that is too narrow for all of them, and returns their logits.
func (r *runner) batches(sequence int, rows []plan.Row, wanted []int) ([]float32, error) {
	vocab, width := r.bundle.Model.VocabSize, r.pool.sequences[sequence].width
	if r.gathered == nil && len(wanted) > 0 {
		r.gathered = make([]float32, len(r.numbers(plan.SpaceLogits)))
	}
	done := 0
	for first := 0; first < len(rows); first += width {
		piece := rows[first:min(first+width, len(rows))]
		var own []int
		for _, i := range wanted[done:] {
			if i < first+len(piece) {
				own = append(own, i-first)
			}
		}
		last := r.pool.sequences[sequence].head
		if len(own) > 0 {
			last = len(r.pool.sequences[sequence].phases)
		}
		r.wanted = device.Wanted(r.wanted[:0], piece, own)
		r.pool.run(sequence, piece, r.wanted, last)
		if err := r.failure(); err != nil {
			return nil, err
		}
		copy(r.gathered[done*vocab:], r.numbers(plan.SpaceLogits)[:len(own)*vocab])
		done += len(own)
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return r.gathered[:len(wanted)*vocab], nil
}
