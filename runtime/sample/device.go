package sample

import (
	"math"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Sampling is the sampler's state for a device that is to choose the next tokens
// in its place. What the device has chosen is told to the sampler by Skip and
// Accept, as if Next had returned it.
func (s *Sampler) Sampling() *device.Sampling {
	d := &device.Sampling{Sampling: plan.Sampling{
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
		d.Window = plan.SampleWindowAll
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

// Skip counts a draw that was made elsewhere.
func (s *Sampler) Skip() { s.draws++ }
