// Package nextn is the host's half of a layer that predicts the token after next
// (multi-token prediction, DeepSeek-V3, arXiv 2412.19437, section 2.2): it joins the hidden
// state of a position and the embedding of the token that follows to the layer's input.
// That is two norms and a row of a table, some microseconds; the layer itself is a bundle
// (plan.Model.NextN) and runs on a device.
package nextn

import (
	"encoding/binary"
	"fmt"
	"math"

	"mla/runtime/bind"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// Joiner makes inputs. It may be used by several goroutines.
type Joiner struct {
	dim, vocab   int
	eps          float64
	embed        bind.Joined
	enorm, hnorm []float32
	model, own   []float32 // norms behind which hidden states are taken
}

// New reads the weights of a bundle's Joined from a file, which must stay open.
func New(f *gguf.File, b *plan.Bundle) (*Joiner, error) {
	list, err := bind.FindJoined(f, b)
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

// Model makes hidden states of the model's, x, as it leaves them in front of its last norm.
func (j *Joiner) Model(x []float32) { norm(x, x, j.model, j.eps) }

// Own makes hidden states of those that the layer itself leaves, for the draft behind a
// draft.
func (j *Joiner) Own(x []float32) { norm(x, x, j.own, j.eps) }

// Input writes the input of a row to dst: [rms(E[token])*enorm; rms(hidden)*hnorm]. Without
// a hidden state (nil: at position 0, or where it is not known) it counts as 0.
func (j *Joiner) Input(dst []float32, token int32, hidden []float32) error {
	if token < 0 || int(token) >= j.vocab {
		return fmt.Errorf("token %d of a vocabulary of %d", token, j.vocab)
	}
	e, h := dst[:j.dim], dst[j.dim:2*j.dim]
	j.embed.Format.Dequantize(e, j.embed.Rows[int(token)*j.embed.RowBytes:][:j.embed.RowBytes])
	norm(e, e, j.enorm, j.eps)
	if hidden == nil {
		clear(h)
		return nil
	}
	norm(h, hidden, j.hnorm, j.eps)
	return nil
}

// norm is dst = x/sqrt(mean(x²)+eps)*weight, for every vector of the weight's length.
func norm(dst, x, weight []float32, eps float64) {
	n := len(weight)
	for at := 0; at < len(x); at += n {
		sum := 0.0
		for _, v := range x[at : at+n] {
			sum += float64(v) * float64(v)
		}
		scale := float32(1 / math.Sqrt(sum/float64(n)+eps))
		for i, v := range x[at : at+n] {
			dst[at+i] = v * scale * weight[i]
		}
	}
}
