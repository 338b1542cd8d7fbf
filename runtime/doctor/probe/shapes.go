package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/chips"
	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// The timing of a model: the number of tokens to warm up, the greatest number of tokens, and the greatest
// duration.
const (
	warmTokens    = 4
	timedTokens   = 64
	timedFor      = 5 * time.Second
	shapesContext = 128 // tokens of context
)

// Shapes times tokens of a model that has a bundle's shapes and meaningless weights. It writes which part of
// the GPU's bandwidth was reached; predictions of speed assume that part.
func Shapes(w *checkup.Writer, d device.Device, b *plan.Bundle, p *plan.Profile, gpu string) error {
	m, err := synthetic(b, p)
	if err != nil {
		return err
	}
	w.Write(checkup.Now, "loading weights of the shapes of "+b.Spec, "")
	cfg := device.Config{Context: shapesContext, Tables: 1, Pages: plan.Pages(shapesContext), KV: quant.F16, Width: 1}
	r, err := d.Load(m, cfg)
	if err != nil {
		return err
	}
	model, err := engine.NewModel(r, b.Model.VocabSize, cfg)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	tokens, took, err := timed(model)
	if err = errors.Join(err, model.Close()); err != nil {
		return err
	}
	speed, bytes := float64(tokens)/took.Seconds(), read(m)
	chip := chips.Of(gpu)
	w.Write(checkup.Fact, "tokens of "+b.Spec, "%.1f tok/s at %s, %s activations: %.0f %% of the %.0f GB/s of %s for %.2f GB a token; docs/mac.md predicts 40 to 73 %%, by the size of the chip",
		speed, p.Name, b.Act(), 100*speed*float64(bytes)/(chip.GBs*1e9), chip.GBs, chip.Name, float64(bytes)/1e9)
	w.Write(checkup.Pass, "tokens of "+b.Spec, "%d", tokens)
	return nil
}

// timed runs tokens and returns the number and the duration of those after the warm-up.
func timed(m *engine.Model) (tokens int, took time.Duration, err error) {
	s, err := m.NewPrivateSession()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for i := range warmTokens + timedTokens {
		if i == warmTokens {
			start = time.Now()
		}
		if err := s.Append(int32(i + 1)); err != nil {
			return 0, 0, err
		}
		if took = time.Since(start); i > warmTokens && took > timedFor {
			return i - warmTokens + 1, took, nil
		}
	}
	return timedTokens, took, nil
}

// synthetic binds a bundle to meaningless weights of a profile's types.
func synthetic(b *plan.Bundle, p *plan.Profile) (*device.Model, error) {
	list, total, err := weights(b, p)
	if err != nil {
		return nil, err
	}
	return &device.Model{Bundle: b, Weights: list, Regions: [][]byte{filled(total)}}, nil
}

// weights returns the weights of a bundle, one after the other, and their total size in bytes.
func weights(b *plan.Bundle, p *plan.Profile) (list [][]device.Weight, total int64, err error) {
	list = make([][]device.Weight, len(b.Weights))
	for i := range b.Weights {
		w := &b.Weights[i]
		for l := range max(1, w.Last-w.First) {
			f, ok := quant.Lookup(p.At(i, l))
			if !ok {
				return nil, 0, fmt.Errorf("%s: type %d is unknown", w.Role, p.At(i, l))
			}
			row, err := f.RowBytes(w.Cols)
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %w", w.Role, err)
			}
			stride := int64(row) * int64(w.Rows)
			list[i] = append(list[i], device.Weight{Tensor: w.Role, Offset: total, Bytes: stride * int64(w.Batch), Type: p.At(i, l), BatchStride: stride})
			total += (stride*int64(w.Batch) + device.WeightAlign - 1) / device.WeightAlign * device.WeightAlign
		}
	}
	return list, total, nil
}

// filled returns memory whose bytes are small numbers in every type: as halves 0.01 to 0.1, as floats almost
// 0.
func filled(n int64) []byte {
	block := make([]byte, 1<<16)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range block {
		block[i] = 0x20 + byte(rng.UintN(16))
	}
	all := make([]byte, n)
	for at := int64(0); at < n; at += int64(len(block)) {
		copy(all[at:], block)
	}
	return all
}

// Bytes returns the size of the weights of a synthetic model of a profile.
func Bytes(b *plan.Bundle, p *plan.Profile) (int64, error) {
	_, n, err := weights(b, p)
	return n, err
}

// read returns how many bytes of a dense model's weights a token reads: all weights, but only one row of an
// embedding.
func read(m *device.Model) (n int64) {
	head := false
	for i := range m.Bundle.Weights {
		head = head || m.Bundle.Weights[i].Role == "lm_head"
	}
	for i := range m.Weights {
		for l := range m.Weights[i] {
			if !head || m.Bundle.Weights[i].Role != "embed_tokens" {
				n += m.Weights[i][l].Bytes
			}
		}
	}
	return n
}
