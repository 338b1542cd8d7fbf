package sample

import (
	"math"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Sampling is the sampler's state for a device that picks the next tokens in its place. It is nil if only the
// sampler can pick the next one: devices lack some steps, or this order of them, or the text may not end yet.
// The sampler learns what the device has picked by Skip and Accept, as if Next had returned it.
func (s *Sampler) Sampling() *device.Sampling {
	if s.steps != nil || s.early(s.draws) {
		return nil
	}
	d := &device.Sampling{Mask: s.mask, Sampling: plan.Sampling{
		Seed: s.p.Seed, Draw: s.draws, TopP: s.topP, TopK: uint32(min(s.p.TopK, math.MaxInt32)),
		InvTemperature: s.invTemperature, LogMinP: max(s.logMinP, -math.MaxFloat32),
		RepeatPenalty: s.p.RepeatPenalty, InvRepeatPenalty: s.invRepeat,
		PresencePenalty: s.p.PresencePenalty, FrequencyPenalty: s.p.FrequencyPenalty,
	}}
	for _, b := range s.biases {
		d.Biases = append(d.Biases, device.Bias{Token: b.id, Add: b.add})
	}
	switch {
	case !s.p.penalises():
	case s.recent.limit < 0:
		d.Window = device.WindowAll
		for _, o := range s.recent.seen {
			for range o.count {
				d.Recent = append(d.Recent, o.id)
			}
		}
	default:
		d.Window = uint32(s.recent.limit)
		d.Recent = append(append(d.Recent, s.recent.ring[s.recent.next:]...), s.recent.ring[:s.recent.next]...)
	}
	return d
}

// Skip counts a draw that a device has made.
func (s *Sampler) Skip() { s.draws++ }

// Picked is the token that a device picks by logits: the reference of the kernels of plan.Bundle.Pick.
func Picked(p *device.Pick, logits []float32) int32 {
	s := &Sampler{
		p: Params{
			Temperature: p.InvTemperature, // only whether it is 0 matters
			TopK:        int(p.TopK), TopP: 1, Seed: p.Seed,
			RepeatPenalty: p.RepeatPenalty, PresencePenalty: p.PresencePenalty, FrequencyPenalty: p.FrequencyPenalty,
		},
		draws: p.Draw, invTemperature: p.InvTemperature, invRepeat: p.InvRepeatPenalty, logMinP: p.LogMinP, topP: p.TopP,
	}
	s.mask = p.Mask
	if p.TopP != plan.SampleTopPOff {
		s.p.TopP = 0 // top-p is on
	}
	for _, a := range p.Adjusts {
		s.biases = append(s.biases, bias{int32(a.Token), a.Bias})
		if a.Count > 0 {
			s.recent.seen = append(s.recent.seen, occurrences{int32(a.Token), int32(a.Count)})
		}
	}
	return s.Next(logits)
}
