package describe

import (
	"mla/gen/target"
	"mla/runtime/plan"
)

// Prediction is the result of the time model for one chip. This project has measured nothing of it. Times and
// speeds are ranges, because the share of the bandwidth is a range.
type Prediction struct {
	Device        string  `json:"device"`
	Tier          string  `json:"tier"` // size of the chip, which determines the share
	BandwidthGBs  float64 `json:"bandwidth_gb_s"`
	TFlops        float64 `json:"tflop_s"`         // 10^12 operations per second, at most
	Share         Range   `json:"bandwidth_share"` // of BandwidthGBs that kernels reach
	ShareSource   string  `json:"bandwidth_share_source"`
	WeightsUs     Range   `json:"weights_us"`
	CacheUs       Range   `json:"cache_us"`
	FlopsUs       Range   `json:"flops_us"`
	LaunchUs      float64 `json:"launch_us"` // of a dispatch that waits for the one before
	DispatchesUs  float64 `json:"dispatches_us"`
	CommandBufUs  float64 `json:"command_buffer_us"`
	TokPerSecond  Range   `json:"predicted_tok_s"`
	CeilingTokSec float64 `json:"ceiling_tok_s"` // bytes over data-sheet bandwidth alone
	// Prompt is the speed of prompts in tokens per second, in pieces of PromptRows tokens. PromptRows 0:
	// there are no kernels for prompts.
	PromptRows int   `json:"prompt_rows"`
	Prompt     Range `json:"predicted_prompt_tok_s"`
}

// Range is an interval in which a value lies.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// over returns the range of x divided by a value of r.
func (r Range) over(x float64) Range { return Range{x / r.High, x / r.Low} }

// plus returns the time of two pieces of work, one after the other.
func (r Range) plus(o Range) Range { return Range{r.Low + o.Low, r.High + o.High} }

// beside returns the time of two pieces of work that do not wait for each other: at best the longer time, at
// worst the sum.
func (r Range) beside(o Range) Range { return Range{max(r.Low, o.Low), r.High + o.High} }

// commandBufferUs is the fixed time of a token in the time model t = max(bytes/(η·BW), operations/(ρ·F)) +
// N·c + commandBufferUs, in µs. A chip has the bandwidth BW and does F operations per second. Kernels reach
// the shares η and ρ of these, and each of N dispatches that wait costs c. At the slow end of the range,
// bytes and operations do not overlap: their times are added.
const commandBufferUs = 20

func predict(b *plan.Bundle, r *Report) []Prediction {
	var list []Prediction
	token, cached, states := &r.Widths[0], float64(r.KVBytesPerContextToken), 2*float64(r.StateBytesPerSession)
	for _, d := range target.Predictions {
		chip := d.Rates()
		s := &d.Tier.Dense
		if b.Model.MoE.NRoutedExperts > 0 {
			s = &d.Tier.MoE
		}
		p := Prediction{Device: d.Name, Tier: d.Tier.Name, BandwidthGBs: chip.GBs, TFlops: chip.TFlops, Share: Range{s.Low, s.High},
			ShareSource: s.From.Found, LaunchUs: chip.LaunchUs, CommandBufUs: commandBufferUs}
		kv := cached*float64(r.Depth+1) + states
		p.WeightsUs, p.CacheUs = p.bytes(float64(r.WeightBytesPerToken)), p.bytes(kv)
		p.FlopsUs = p.flops(float64(token.Flops))
		p.DispatchesUs = float64(token.Barriers) * p.LaunchUs
		p.TokPerSecond = p.whole(p.WeightsUs.plus(p.CacheUs), p.FlopsUs, token).over(1e6)
		p.CeilingTokSec = 1e6 * p.BandwidthGBs * 1e3 / (float64(r.WeightBytesPerToken) + kv)
		if w := &r.Widths[len(r.Widths)-1]; w.Rows > b.BatchRows() {
			p.PromptRows = w.Rows
			p.Prompt = p.whole(p.bytes(float64(w.WeightBytes)+cached*float64(r.Depth+w.Rows)+states), p.flops(float64(w.Flops)), w).over(1e6 * float64(w.Rows))
		}
		list = append(list, p)
	}
	return list
}

// bytes returns the time to move n bytes, in µs.
func (p *Prediction) bytes(n float64) Range { return p.Share.over(n / (p.BandwidthGBs * 1e3)) }

// flops returns the time of n operations, in µs.
func (p *Prediction) flops(n float64) Range {
	return Range{target.Reach.Low, target.Reach.High}.over(n / (p.TFlops * 1e6))
}

// whole returns the time of a replay, in µs.
func (p *Prediction) whole(bytes, flops Range, w *Width) Range {
	fixed := float64(w.Barriers)*p.LaunchUs + p.CommandBufUs
	return bytes.beside(flops).plus(Range{fixed, fixed})
}
