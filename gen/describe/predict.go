package describe

import (
	"mla/gen/target"
	"mla/runtime/plan"
)

// Prediction is the time model's answer for one chip; nothing in it was measured
// by this project. Times and speeds are ranges, as the share of the bandwidth is.
type Prediction struct {
	Device        string  `json:"device"`
	Tier          string  `json:"tier"` // size of the chip, which the share depends on
	BandwidthGBs  float64 `json:"bandwidth_gb_s"`
	Share         Range   `json:"bandwidth_share"` // of BandwidthGBs that kernels reach
	ShareSource   string  `json:"bandwidth_share_source"`
	WeightsUs     Range   `json:"weights_us"`
	CacheUs       Range   `json:"cache_us"`
	LaunchUs      float64 `json:"launch_us"` // of a dispatch that waits for the one before
	DispatchesUs  float64 `json:"dispatches_us"`
	CommandBufUs  float64 `json:"command_buffer_us"`
	TokPerSecond  Range   `json:"predicted_tok_s"`
	CeilingTokSec float64 `json:"ceiling_tok_s"` // bytes over data-sheet bandwidth alone
}

// Range is what a value lies between.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// over is the range of x divided by a value of r.
func (r Range) over(x float64) Range { return Range{x / r.High, x / r.Low} }

// commandBufferUs is what a token takes beside bytes and dispatches in the time model
// t = W/(η·BW) + KV/(η·BW) + N·c + commandBufferUs, where a chip has the bandwidth BW, kernels
// reach the share η of it, and a dispatch that waits costs c.
const commandBufferUs = 20

func predict(m *plan.Model, r *Report) []Prediction {
	var list []Prediction
	weights, kv := float64(r.WeightBytesPerToken), float64(r.KVBytesPerContextToken)*float64(r.Depth+1)+2*float64(r.StateBytesPerSession)
	for _, d := range target.Predictions {
		chip := d.Rates()
		perUs := chip.GBs * 1e3 // bytes per µs
		s := &d.Tier.Dense
		if m.MoE.NRoutedExperts > 0 {
			s = &d.Tier.MoE
		}
		share := Range{s.Low, s.High}
		p := Prediction{Device: d.Name, Tier: d.Tier.Name, BandwidthGBs: chip.GBs, Share: share, ShareSource: s.From.Found,
			WeightsUs: share.over(weights / perUs), CacheUs: share.over(kv / perUs),
			LaunchUs: chip.LaunchUs, DispatchesUs: float64(r.BarriersPerToken) * chip.LaunchUs, CommandBufUs: commandBufferUs}
		fixed := p.DispatchesUs + p.CommandBufUs
		token := Range{p.WeightsUs.Low + p.CacheUs.Low + fixed, p.WeightsUs.High + p.CacheUs.High + fixed}
		p.TokPerSecond = token.over(1e6)
		p.CeilingTokSec = 1e6 * perUs / (weights + kv)
		list = append(list, p)
	}
	return list
}
