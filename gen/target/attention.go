package target

import (
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// Attention is how attention is split along the KV axis: the number of splits, the cache rows of a tile, and
// the simdgroups of a threadgroup.
type Attention struct {
	Splits, Tile, Simdgroups int
	// PerCore is the number of splits of one row for each core of the GPU that runs the model, up to Splits;
	// 0: always Splits. A tuning that gives Splits clears it.
	PerCore int
}

// Over returns a with zeros replaced by the values of general.
func (a Attention) Over(general Attention) Attention {
	if a.Splits == 0 {
		a.PerCore = general.PerCore
	}
	OrElse(&a.Splits, general.Splits)
	OrElse(&a.Tile, general.Tile)
	OrElse(&a.Simdgroups, general.Simdgroups)
	return a
}

// attentions are the defaults for tunings: about one threadgroup for each core.
var attentions = table[Attention]{
	{"", Attention{Splits: 132, Tile: 16, Simdgroups: 8}, Source{Estimated, "", "2026-11-26", "as of class nvidia"}},
	{plan.ClassApple, Attention{Splits: 160, Tile: 16, Simdgroups: 11, PerCore: 3}, Source{Estimated, "Apple GPUs", "2026-11-28",
		"results of splits are written and read again: with 132 of GLM-4.7-Flash a ninth of the bytes of a token that is 32,768 deep, with 3 for each of 10 cores 9 % of those less. " +
			"160 are two for each of 80 cores and four for each of 40, so that all cores end together. " +
			"64 blocks of latent columns are six to a simdgroup: with twelve a thread has no fewer registers, with eight it needs more than 128 (docs/lab/registers.tsv)"}},
	{plan.ClassNVIDIA, Attention{Splits: 132, Tile: 16, Simdgroups: 8}, Source{Measured, h200, "2026-11-26",
		"contexts beyond 32,768 tokens have a tile more to each of 128 splits: Youtu-LLM at 697 tok/s with 132, at 691 with 128"}},
}

// Attention returns the default for tunings.
func (t Target) Attention() Attention { return attentions.of(t.class).is }

// spread is how the splits of several rows are chosen.
type spread struct {
	rows   int // least number of cache rows of a split, for each row that attends
	fourth int // larger numbers of splits are multiples of this one, because a combine takes that many at a time
}

var spreads = table[spread]{
	{"", spread{rows: 4, fourth: 4}, Source{Measured, h200, "2026-11-26",
		"of 512 cache rows there are 128 threadgroups then, for 132 cores. Eight sessions of Youtu-LLM, 512 tokens deep: 7,031 tok/s, with twice as many cache rows to a split 6,897. " +
			"With twice as many splits 16 sessions of Youtu-LLM ran at 10,736 tok/s instead of 11,562, of DeepSeek-V2-Lite at 4,838 instead of 4,979"}},
}

// LeastRows returns the least number of cache rows of a split when width rows attend in parallel, in whole
// tiles; 0: one tile. Shorter splits would only make threadgroups that wait for a free core. The result is at
// most what plans may ask for.
func (t Target) LeastRows(width, tile int) int {
	least := spreads.of(t.class).is.rows * width
	if width <= 1 || least <= tile {
		return 0
	}
	return min(roundUp(least, tile), verify.MaxSplits/tile*tile)
}

// MostSplits returns the largest number of splits of each of width rows. All rows have about as many
// threadgroups in all as a single row has, which is one for each core of a large GPU. Threadgroups of splits
// that a short context does not fill end at once, but each still has to be scheduled.
func (t Target) MostSplits(width, splits int) int {
	fourth := spreads.of(t.class).is.fourth
	n := splits / max(1, width)
	if n > fourth {
		n -= n % fourth
	}
	return max(1, n)
}

// PlainAttention is what the plain form of attention takes of a threadgroup and its threads; see
// templates/msl/lib/attend.metal.
type PlainAttention struct {
	Width            int // columns of a cache row
	HeadLanes        int // lanes of a simdgroup that hold different heads, a power of two
	QueryColumns     int // columns of a query that one thread holds
	Queries          int // floats of queries that one thread holds
	ColumnsPerThread int // latent columns that one thread sums
	Sums             int // sums that one thread holds
	Tile             int // cache rows in threadgroup memory

	// Floats of threadgroup memory, in this order: the tile, the simdgroups' shares of the scores, the
	// softmax weights, (m, l) per head, and for each head the factor by which earlier sums are rescaled.
	TileFloats, ShareFloats, WeightFloats, MLFloats, ShrinkFloats int
}

// PlainAttentionOf returns what the plain form takes for heads with lat + pe columns, when a tile has tile
// cache rows.
func PlainAttentionOf(heads, lat, pe, simdgroups, tile int) PlainAttention {
	a := PlainAttention{Width: lat + pe, HeadLanes: 1, ColumnsPerThread: ceil(lat, simdgroups*SimdWidth), Tile: tile}
	for a.HeadLanes < min(heads, SimdWidth) {
		a.HeadLanes *= 2
	}
	a.QueryColumns = ceil(a.Width, simdgroups*(SimdWidth/a.HeadLanes))
	a.Queries = a.QueryColumns * ceil(heads, a.HeadLanes)
	a.Sums = a.ColumnsPerThread * heads
	a.MLFloats, a.ShrinkFloats = 2*heads, heads
	a.TileFloats, a.ShareFloats, a.WeightFloats = tile*a.Width, tile*simdgroups*heads, tile*heads
	return a
}

// Floats returns the threadgroup memory in floats.
func (a *PlainAttention) Floats() int {
	return a.TileFloats + a.ShareFloats + a.WeightFloats + a.MLFloats + a.ShrinkFloats
}

// fits reports whether registers and threadgroup memory suffice.
func (a *PlainAttention) fits() bool {
	return a.Queries <= MaxRegisters && a.Sums <= MaxRegisters && 4*a.Floats() <= ThreadgroupBytes
}

// AttentionSimdgroups returns the default number of simdgroups of attention for a number of heads:
// attentions' number, doubled until a tile of one row fits. If none fits, it returns attentions' number.
func (t Target) AttentionSimdgroups(heads, lat, pe int) int {
	start := t.Attention().Simdgroups
	for n := start; n <= MaxSimdgroups; n *= 2 {
		if a := PlainAttentionOf(heads, lat, pe, n, 1); a.fits() {
			return n
		}
	}
	return start
}

// CombineFloats returns the threadgroup memory, in floats, of a combine of splits: the splits' factors, and
// the sums of all teams of threads but one.
func CombineFloats(dim, splits, teams int) int { return roundUp(splits, SimdWidth) + (teams-1)*dim }

// GatingFloats returns the threadgroup memory, in floats, of expert selection: the staged input, one number
// for each simdgroup, two scores for each expert, number and weight of each selected expert, and one score
// for each group.
func GatingFloats(inputs, experts, chosen, groups int) int {
	return min(inputs, MaxStage) + MaxSimdgroups + 2*experts + 2*chosen + groups
}

// Budget is what attention may take of the devices of a kernel class.
type Budget struct {
	Devices   string // class of devices of the bundle; "": any
	Class     string // a kernel class; "": devices of any class without a budget of its own
	Registers int    // 32-bit registers that a thread may hold; see msl.Registers
	Scaled    int    // the same for the matrix form on a cache of Q8_0
	Plain     int    // the same for the plain form; 0: Registers
	Threads   int    // in a threadgroup
	Turns     bool   // if not all heads fit, a threadgroup goes over its split several times, with some of the heads each time
	From      Source
}

// Budgets is the table of budgets. Among the bundles of one class the kernel class "" comes first.
var Budgets = []Budget{
	{"", "", 128, 160, 0, MaxThreads, false, Source{Estimated, "Apple GPUs of family Apple9 and later, NVIDIA GPUs", "2026-11-22",
		"a bound that keeps tiles small: the former take registers from a memory that threads share as they need them, the latter have up to 255. " +
			"A row of Q8_0 has half the bytes of one of halves: tiles of twice the rows have as many under way, in which most of the time of long contexts goes by"}},
	{"", plan.ClassApple7, 96, 96, 0, 384, false, Source{Estimated, "Apple GPUs of families Apple7 and Apple8", "2026-11-22",
		"128 is all that a thread has, and what does not fit goes to memory: a quarter is left for addresses, for softmax and for the compiler. " +
			"Public measurements of the M1 find room for 384 threads with all registers in a core, so that this many can always be launched"}},
	{plan.ClassApple, "", 96, 90, 48, 384, true, Source{Estimated, "Apple GPUs", "2026-11-28",
		"one kernel for all families, as the oldest can run it; with 90 the tiles of Q8_0 are those with which no kernel spills (docs/lab/registers.tsv), " +
			"with 61 the plain form of 16 heads spilled. Sixteen simdgroups would have 32 heads at a time, but with 105 registers of a thread not all GPUs can launch 512 threads"}},
	{plan.ClassNVIDIA, "", 128, 160, 0, MaxThreads, false, Source{Estimated, "NVIDIA GPUs", "2026-11-22", "as for any device"}},
}

// Budget returns the budget of a kernel class for bundles of the class.
func (t Target) Budget(class string) *Budget {
	list := t.Budgets()
	for _, b := range list {
		if b.Class == class {
			return b
		}
	}
	return list[0]
}

// Budgets returns the budgets of the kernel classes that bundles of the class have kernels for.
func (t Target) Budgets() (list []*Budget) {
	for _, class := range []string{t.class, ""} {
		for i := range Budgets {
			if Budgets[i].Devices == class {
				list = append(list, &Budgets[i])
			}
		}
		if len(list) > 0 {
			break
		}
	}
	return list
}

// Matrix returns how many registers the matrix form may hold with a cache of the type.
func (b *Budget) Matrix(cache quant.Type) int {
	if cache == quant.Q8_0 {
		return b.Scaled
	}
	return b.Registers
}
