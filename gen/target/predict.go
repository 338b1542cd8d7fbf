package target

import "mla/runtime/device/chips"

// Share is a range of the fraction of a data-sheet rate that kernels are assumed to reach, without the cost
// of launches.
type Share struct {
	Low, High float64
	From      Source
}

// Reach is the fraction of a chip's operations per second that products of matrices, and attention over many
// rows, are assumed to reach.
var Reach = Share{0.40, 0.70, Source{Reported, "Apple GPUs", "2026-11-28", "llama.cpp's prompts of 7B models at Q4_0 reach 0.60 (M2 Ultra) to 0.72 (M4 Max) of 2 x 128 lanes x cores x clock; 0.40 is an estimate for kernels that nobody has tuned there"}}

// Tier is a group of chips of similar size. Larger chips reach a smaller fraction of their bandwidth. Models
// with experts reach less than dense ones.
type Tier struct {
	Name       string
	Dense, MoE Share
}

// The shares are those of other engines. llama.cpp's come from public reports of whole tokens per second, of
// 7B models at Q4_0 and of models with some 3B active parameters.
var (
	proTier = Tier{
		Name:  "Pro and smaller",
		Dense: Share{0.60, 0.73, Source{Reported, "Apple GPUs", "2026-11-22", "60-70 % reported of quantised mat-vecs; 73 % is the least of MLX"}},
		MoE:   Share{0.46, 0.60, Source{Estimated, "Apple GPUs", "2026-11-22", "estimate: what dense models reach at best, less llama.cpp's loss on MoE (36 for 58 % on a Max); at most their least"}},
	}
	maxTier = Tier{
		Name:  "Max",
		Dense: Share{0.58, 0.73, Source{Reported, "M4 Max", "2026-11-22", "llama.cpp 58 % on an M4 Max; 73 % is the least of MLX"}},
		MoE:   Share{0.35, 0.50, Source{Reported, "Apple GPUs", "2026-11-22", "engines 34-37 %; at most 50 %, an estimate: this plan has a quarter of their dispatches"}},
	}
	ultraTier = Tier{
		Name:  "Ultra",
		Dense: Share{0.40, 0.57, Source{Reported, "Apple GPUs", "2026-11-22", "llama.cpp 40-45 %; an estimate above: what MLX gains on a Max (73 for 58 %)"}},
		MoE:   Share{0.26, 0.40, Source{Estimated, "Apple GPUs", "2026-11-22", "estimate: the share on a Max, less what dense models lose on an Ultra (42 for 58 %); at most 40 %"}},
	}
)

// Predicted is a chip whose speed is predicted. Its bandwidth, and the cost of a dependent dispatch, are in
// package chips, which the Metal runtime uses, too.
type Predicted struct {
	Name string
	Chip string // name in package chips
	Tier *Tier
}

// Predictions lists the chips. Nobody has reported shares of the smallest, so they count as Pro.
var Predictions = []Predicted{
	{"M2, M3", "M3", &proTier},
	{"M3 Pro", "M3 Pro", &proTier},
	{"M4 Pro", "M4 Pro", &proTier},
	{"M3 Max", "M3 Max", &maxTier},
	{"M4 Max", "M4 Max", &maxTier},
	{"M5 Max", "M5 Max", &maxTier},
	{"M2 Ultra", "M2 Ultra", &ultraTier},
	{"M3 Ultra", "M3 Ultra", &ultraTier},
}

// Rates returns the rates of the chip.
func (p *Predicted) Rates() chips.Chip { return chips.Named(p.Chip) }
