package describe

import (
	"mla/runtime/device/chips"
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

// share is the part of the data-sheet bandwidth that decoding is assumed to reach,
// launches not counted, and where that comes from.
type share struct {
	Range
	source string
}

// tier is a size of chips. The larger, the smaller the share of its bandwidth that
// engines reach; models with experts reach less than dense ones.
type tier struct {
	name       string
	dense, moe share
}

// The shares are other engines' on Apple GPUs: llama.cpp's are from public reports
// of 7B models at Q4_0 and of models with some 3B active parameters, of whole tokens.
// An estimate is called one.
var (
	proTier = tier{
		name:  "Pro and smaller",
		dense: share{Range{0.60, 0.73}, "60-70 % reported of quantised mat-vecs; 73 % is the least of MLX"},
		moe:   share{Range{0.46, 0.60}, "estimate: what dense models reach at best, less llama.cpp's loss on MoE (36 for 58 % on a Max); at most their least"},
	}
	maxTier = tier{
		name:  "Max",
		dense: share{Range{0.58, 0.73}, "llama.cpp 58 % on an M4 Max; 73 % is the least of MLX"},
		moe:   share{Range{0.35, 0.50}, "engines 34-37 %; at most 50 %, an estimate: this plan has a quarter of their dispatches"},
	}
	ultraTier = tier{
		name:  "Ultra",
		dense: share{Range{0.40, 0.57}, "llama.cpp 40-45 %; an estimate above: what MLX gains on a Max (73 for 58 %)"},
		moe:   share{Range{0.26, 0.40}, "estimate: the share on a Max, less what dense models lose on an Ultra (42 for 58 %); at most 40 %"},
	}
)

// device is one line of the time model
// t = W/(η·BW) + KV/(η·BW) + N·c + 20 µs.
type device struct {
	name string
	chip string // of package chips, which has its bandwidth BW and the cost c of a dependent dispatch
	tier *tier
}

// devices are the Apple GPUs that predictions are printed for. No shares were reported of
// the smallest chips: they are counted as Pro.
var devices = []device{
	{"M2, M3", "M3", &proTier},
	{"M3 Pro", "M3 Pro", &proTier},
	{"M4 Pro", "M4 Pro", &proTier},
	{"M4 Max", "M4 Max", &maxTier},
	{"M5 Max", "M5 Max", &maxTier},
	{"M3 Ultra", "M3 Ultra", &ultraTier},
}

const commandBufferUs = 20

func predict(m *plan.Model, r *Report) []Prediction {
	var list []Prediction
	weights, kv := float64(r.WeightBytesPerToken), float64(r.KVBytesPerContextToken)*float64(r.Depth+1)
	for _, d := range devices {
		chip := chips.Named(d.chip)
		perUs := chip.GBs * 1e3 // bytes per µs
		s := &d.tier.dense
		if m.MoE.NRoutedExperts > 0 {
			s = &d.tier.moe
		}
		p := Prediction{Device: d.name, Tier: d.tier.name, BandwidthGBs: chip.GBs, Share: s.Range, ShareSource: s.source,
			WeightsUs: s.over(weights / perUs), CacheUs: s.over(kv / perUs),
			LaunchUs: chip.LaunchUs, DispatchesUs: float64(r.BarriersPerToken) * chip.LaunchUs, CommandBufUs: commandBufferUs}
		fixed := p.DispatchesUs + p.CommandBufUs
		token := Range{p.WeightsUs.Low + p.CacheUs.Low + fixed, p.WeightsUs.High + p.CacheUs.High + fixed}
		p.TokPerSecond = token.over(1e6)
		p.CeilingTokSec = 1e6 * perUs / (weights + kv)
		list = append(list, p)
	}
	return list
}
