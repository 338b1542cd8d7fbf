// Package nextn computes the input of an MTP layer (multi-token prediction, DeepSeek-V3, arXiv 2412.19437,
// section 2.2) on the host: it joins the hidden state of a position and the embedding of the next token. That
// is two norms and a row of a table, and takes some microseconds. The layer itself is a bundle
// (plan.Model.NextN) and runs on a device.
package nextn

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"

	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
)

// Joiner computes inputs. It is safe for concurrent use.
type Joiner struct {
	dim, vocab   int
	eps          float64
	embed        bind.Joined
	enorm, hnorm []float32
	model, own   []float32 // weights of the norms after which hidden states are taken
}

// New reads the weights of a bundle's Joined from a file, which must stay open.
func New(r *bind.Resolved, b *plan.Bundle) (*Joiner, error) {
	list, err := r.Joined(b)
	if err != nil {
		return nil, err
	}
	if len(list) != plan.JoinedCount {
		return nil, fmt.Errorf("bundle %s is of no layer that predicts", b.Name)
	}
	j := &Joiner{dim: b.Model.HiddenSize, vocab: b.Model.VocabSize, eps: b.Model.RMSNormEps, embed: list[plan.JoinedEmbedding]}
	for i, to := range map[int]*[]float32{plan.JoinedENorm: &j.enorm, plan.JoinedHNorm: &j.hnorm, plan.JoinedModelNorm: &j.model, plan.JoinedSharedNorm: &j.own} {
		*to = make([]float32, j.dim)
		for at := range *to {
			(*to)[at] = math.Float32frombits(binary.LittleEndian.Uint32(list[i].Rows[4*at:]))
		}
	}
	return j, nil
}

// Dim is the length of a hidden state; an input is twice as long.
func (j *Joiner) Dim() int { return j.dim }

// Model applies the model's last norm to vectors of its residual stream, in place. The results are hidden
// states.
func (j *Joiner) Model(x []float32) { j.norms(x, j.model) }

// Own applies the layer's own norm to vectors of its residual stream, in place. The results are hidden states
// for the next draft.
func (j *Joiner) Own(x []float32) { j.norms(x, j.own) }

// norms applies norm to each vector of x, in place.
func (j *Joiner) norms(x, weight []float32) {
	_ = spread(len(x)/j.dim, func(i int) { // this reads no file, so it cannot fail
		v := x[i*j.dim:][:j.dim]
		norm(v, v, weight, j.eps)
	})
}

// Inputs writes the inputs of rows to dst: [rms(E[token])*enorm; rms(hidden)*hnorm] for each. A nil hidden
// state, at position 0 or where it is unknown, counts as 0.
func (j *Joiner) Inputs(dst []float32, tokens []int32, hidden [][]float32) error {
	for _, t := range tokens {
		if t < 0 || int(t) >= j.vocab {
			return fmt.Errorf("token %d of a vocabulary of %d", t, j.vocab)
		}
	}
	return spread(len(tokens), func(i int) { j.input(dst[2*i*j.dim:], tokens[i], hidden[i]) })
}

func (j *Joiner) input(dst []float32, token int32, hidden []float32) {
	e, h := dst[:j.dim], dst[j.dim:2*j.dim]
	j.embed.Format.Dequantize(e, j.embed.Rows[int(token)*j.embed.RowBytes:][:j.embed.RowBytes])
	norm(e, e, j.enorm, j.eps)
	if hidden == nil {
		clear(h)
		return
	}
	norm(h, hidden, j.hnorm, j.eps)
}

// spread calls do for rows 0 to n-1, on several processors if there are many rows: a row takes some
// microseconds, and so does the start of a goroutine. It fails if do has read a mapped file that does not
// exist any more.
func spread(n int, do func(i int)) error {
	const few = 16
	var wg sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0)+1)
	share := max(few, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for first := share; first < n; first += share {
		wg.Go(func() { errs[first/share] = rows(first, min(first+share, n), do) })
	}
	errs[0] = rows(0, min(share, n), do)
	wg.Wait()
	return cmp.Or(errs...)
}

func rows(from, to int, do func(i int)) error {
	return gguf.Guard(func() error {
		for i := from; i < to; i++ {
			do(i)
		}
		return nil
	})
}

// norm is dst = x/sqrt(mean(x²)+eps)*weight.
func norm(dst, x, weight []float32, eps float64) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale := float32(1 / math.Sqrt(sum/float64(len(x))+eps))
	for i, v := range x {
		dst[i] = v * scale * weight[i]
	}
}
