package device

import (
	"cmp"
	"errors"
	"fmt"

	"mla/runtime/plan"
)

// Layout is the sizes of the memory that a recording needs beside the weights, in bytes.
type Layout struct {
	Width               int   // rows of the widest loaded sequence
	Batch               int   // maximum number of rows of a batch: Bundle.BatchRows
	Arena, Rope, Logits int64 // the arena is the largest of all sequences
	Pick                int64 // SpacePick; 0: the bundle has no kernels that pick tokens
	Counters            int64 // tickets of persistent threadgroups, which begin as zeros; 0: the bundle has none
	Tables              int64 // block tables
	Heads               int64 // expanded keys and values, see plan.HeadsPage; 0: no loaded sequence has them
	States              int64 // states of linear attention, a slot for each block table; 0: the model has none
	Cache               int64 // the cache of one layer
	Planes              plan.Planes
	Layers              int       // number of caches
	Pages               int       // pages of a cache
	MaxPages            int       // entries of a block table
	Freqs               []float64 // angle per position of each rotated pair, radians
}

// Limits on the sizes that a bundle may ask for. They keep products of sizes from overflowing.
const (
	maxContext   = 1 << 24
	maxDimension = 1 << 24
	maxArena     = 1 << 32
	maxHeadsPage = 1 << 30
	maxState     = 1 << 32
)

// Limits on a Config.
const (
	MaxTables = 1 << 12
	MaxPages  = 1 << 22
)

// Sequences lists the sequences that a configuration loads: all up to the narrowest that holds cfg.Width
// rows.
func (m *Model) Sequences(cfg Config) []plan.Sequence {
	all := m.Bundle.Sequences
	n := min(1, len(all))
	for n > 0 && n < len(all) && all[n-1].Width < cfg.Width {
		n++
	}
	return all[:n:n] // an append by the caller must not write into the bundle
}

// Layout is Measure with a check that every weight lies in its region.
func (m *Model) Layout(cfg Config) (*Layout, error) {
	l, err := m.Measure(cfg)
	if err == nil {
		err = m.checkWeights()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Measure computes the layout, and checks the configuration and every size of the bundle that it depends on.
// The weights need not be bound.
func (m *Model) Measure(cfg Config) (*Layout, error) {
	b := m.Bundle
	model := &b.Model
	if err := m.checkConfig(cfg); err != nil {
		return nil, err
	}
	most, err := m.measureSequences(cfg)
	if err != nil {
		return nil, err
	}
	if most.heads < 0 || most.heads > maxHeadsPage {
		return nil, fmt.Errorf("heads of %d bytes a page; expected up to %d", most.heads, maxHeadsPage)
	}
	for _, n := range []int{model.VocabSize, model.NumHiddenLayers, model.KVLoraRank, model.QKRopeHeadDim} {
		if n < 1 || n > maxDimension {
			return nil, fmt.Errorf("dimension %d in the model", n)
		}
	}
	states := model.State()
	if n := states.Bytes(); n < 0 || n > maxState {
		return nil, fmt.Errorf("a state of %d bytes a session; expected up to %d", n, int64(maxState))
	}
	planes, err := model.CachePlanes(cfg.KV)
	if err != nil {
		return nil, err
	}
	if n := model.MaxPositionEmbeddings; n < 1 || n > maxContext || cfg.Context > n {
		return nil, fmt.Errorf("a context of %d tokens in a model of %d positions", cfg.Context, n)
	}
	pages := cmp.Or(cfg.Pages, plan.Pages(cfg.Context))
	return &Layout{
		Width:    most.width,
		Batch:    b.BatchRows(),
		Arena:    most.arena,
		Pick:     b.PickBytes,
		Counters: b.Counters,
		Rope:     int64(cfg.Context) * int64(model.QKRopeHeadDim) * 4,
		Logits:   int64(most.wanted) * int64(model.VocabSize) * 4,
		Tables:   int64(max(cfg.Tables, 1)) * int64(model.MaxPages()) * 4,
		Heads:    int64(pages) * most.heads,
		States:   int64(max(cfg.Tables, 1)) * states.Bytes(),
		Cache:    int64(pages) * plan.PageRows * int64(planes.RowBytes()),
		Planes:   planes,
		Layers:   len(model.CacheLayers()),
		Pages:    pages,
		MaxPages: model.MaxPages(),
		Freqs:    m.ropeFreqs(cfg.Context),
	}, nil
}

// checkConfig checks the configuration, and the sizes of the bundle that do not depend on a sequence.
func (m *Model) checkConfig(cfg Config) error {
	b := m.Bundle
	model := &b.Model
	switch {
	case cfg.Tables < 0 || cfg.Tables > MaxTables:
		return fmt.Errorf("%d block tables; expected 1 to %d", cfg.Tables, MaxTables)
	case cfg.Pages < 0 || cfg.Pages > MaxPages:
		return fmt.Errorf("%d pages of the KV cache; expected 1 to %d", cfg.Pages, MaxPages)
	case cfg.Context < 1 || cfg.Context > maxContext:
		return fmt.Errorf("a context of %d tokens; expected 1 to %d", cfg.Context, maxContext)
	case cfg.Width < 0 || cfg.Width > plan.MaxWidth:
		return fmt.Errorf("%d rows at a time; expected 1 to %d", cfg.Width, plan.MaxWidth)
	case b.MaxBatch != 0 && b.MaxBatch <= plan.DefaultBatch || b.MaxBatch > plan.LargestBatch:
		return fmt.Errorf("batches of %d rows; expected 0 or %d to %d", b.MaxBatch, plan.DefaultBatch+1, plan.LargestBatch)
	case b.PickBytes < 0 || b.PickBytes > maxArena || len(b.Pick) > 0 && b.PickBytes < plan.PickLayoutOf(b.BatchRows(), max(model.VocabSize, 0), 1).Values:
		return fmt.Errorf("a memory of %d bytes to pick tokens; expected 0 to %d, and room for picks", b.PickBytes, int64(maxArena))
	case b.Counters < 0 || b.Counters > maxArena:
		return fmt.Errorf("counters of %d bytes; expected 0 to %d", b.Counters, int64(maxArena))
	case m.RopeFactors.wrong(len(b.RopeFreqs)):
		return fmt.Errorf("%d and %d factors for %d rotary frequencies", len(m.RopeFactors.Short), len(m.RopeFactors.Long), len(b.RopeFreqs))
	case 2*len(b.RopeFreqs) != model.QKRopeHeadDim:
		return fmt.Errorf("%d rotary frequencies for %d dimensions", len(b.RopeFreqs), model.QKRopeHeadDim)
	}
	for _, n := range []int{model.NumAttentionHeads, model.QKNopeHeadDim, model.VHeadDim} {
		if n < 0 || n > maxDimension {
			return fmt.Errorf("dimension %d in the model", n)
		}
	}
	if len(b.Sequences) == 0 {
		return errors.New("no sequence of dispatches")
	}
	return nil
}

// extent is the largest sizes that any of the loaded sequences has.
type extent struct {
	width, wanted int   // rows, and rows whose logits are computed
	arena, heads  int64 // bytes of the arena, and of expanded heads per page
}

// measureSequences checks the loaded sequences, which must be in the order of their widths.
func (m *Model) measureSequences(cfg Config) (most extent, err error) {
	b := m.Bundle
	for _, q := range m.Sequences(cfg) {
		switch {
		case q.Width <= most.width || q.Width > plan.MaxWidth:
			return most, fmt.Errorf("a sequence of %d rows after one of %d; expected more, up to %d", q.Width, most.width, plan.MaxWidth)
		case q.ArenaBytes < 1 || q.ArenaBytes > maxArena:
			return most, fmt.Errorf("an arena of %d bytes for %d rows; expected 1 to %d", q.ArenaBytes, q.Width, int64(maxArena))
		case q.Head < 0 || q.Head > len(q.Dispatches):
			return most, fmt.Errorf("the head begins at dispatch %d of %d", q.Head, len(q.Dispatches))
		}
		for _, v := range []*plan.Vectors{q.Input, q.Hidden} {
			if v != nil && (v.Offset < 0 || v.Len < 1 || v.Stride < 0 || v.Offset > q.ArenaBytes || v.Bytes(q.Width, b.Activations) > q.ArenaBytes-v.Offset) {
				return most, fmt.Errorf("%d vectors of %d elements at %d do not fit an arena of %d bytes", q.Width, v.Len, v.Offset, q.ArenaBytes)
			}
		}
		most = extent{
			width:  q.Width,
			wanted: max(most.wanted, plan.WantedRows(q.Width, b.BatchRows())),
			arena:  max(most.arena, q.ArenaBytes),
			heads:  max(most.heads, b.HeadsBytes(q.Dispatches)),
		}
	}
	return most, nil
}

// NewTables returns the host's copy of the block tables, without pages.
func (l *Layout) NewTables() *Tables {
	return NewTables(int(l.Tables/4)/l.MaxPages, l.MaxPages, l.Pages)
}

// PageBytes is the size in bytes of a page over all layers.
func (l *Layout) PageBytes() int { return int(l.Cache / int64(l.Pages) * int64(l.Layers)) }

// StateBytes is the size in bytes of a session's state; 0: the model has none.
func (l *Layout) StateBytes() int { return int(l.States / (l.Tables / 4 / int64(l.MaxPages))) }

// HostBytes is the bytes of the layout on the CPU device, which picks tokens on the host and needs no
// tickets.
func (l *Layout) HostBytes() int64 { return l.Bytes() - l.Pick - l.Counters }

// CacheBytes is the size in bytes of the latent caches of all layers.
func (l *Layout) CacheBytes() int64 { return l.Cache * int64(l.Layers) }
