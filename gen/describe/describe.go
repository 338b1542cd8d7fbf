// Package describe reports the work of a bundle per token, and per replay of several rows: every dispatch
// with its bytes and operations, the totals, and the times that a time model predicts from them for devices.
package describe

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Report is the work of one token under one quant profile, with an f16 cache. Dispatches are those of a
// replay of Rows rows, with Depth tokens before each row.
type Report struct {
	Bundle                 string       `json:"bundle"`
	Act                    string       `json:"act"` // activations, f32 or f16
	Profile                string       `json:"profile"`
	Depth                  int          `json:"depth"`
	DispatchesPerToken     int          `json:"dispatches_per_token"`
	BarriersPerToken       int          `json:"barriers_per_token"`
	WeightBytesPerToken    int64        `json:"weight_bytes_per_token"`
	KVBytesPerContextToken int64        `json:"kv_bytes_per_context_token"`
	StateBytesPerSession   int64        `json:"state_bytes_per_session,omitempty"` // of linear attention
	FlopsPerToken          int64        `json:"flops_per_token"`
	Rows                   int          `json:"rows"`
	Dispatches             []Dispatch   `json:"dispatches"`
	Widths                 []Width      `json:"widths"`
	BatchRows              int          `json:"batch_rows"` // maximum number of rows of a batch; a wider sequence is for prompts
	Kernels                []Kernel     `json:"kernels"`
	Attention              []Attention  `json:"attention"`
	Memory                 Memory       `json:"memory"`
	Predictions            []Prediction `json:"predictions"`

	measured *Timing // nil: nothing was measured
}

// Dispatch is one dispatch of the report.
type Dispatch struct {
	Step         int    `json:"step"`
	Layer        int    `json:"layer"` // -1 outside the layers
	Kernel       string `json:"kernel"`
	Variant      string `json:"variant"`
	Groups       int    `json:"groups"`
	Threads      int    `json:"threads"`
	Barrier      bool   `json:"barrier"`
	WeightBytes  int64  `json:"weight_bytes"`
	BytesRead    int64  `json:"bytes_read"`  // activations, cache and tables
	CacheBytes   int64  `json:"cache_bytes"` // part of BytesRead: the cache
	BytesWritten int64  `json:"bytes_written"`
	Flops        int64  `json:"flops"`
}

// Kernel says what a kernel computes.
type Kernel struct {
	Name string `json:"name"`
	Does string `json:"does"` // which ops were fused, and what that saves
}

// cacheType is the type of the latent cache that the report assumes.
const cacheType = quant.F16

// Width has the totals of a replay of Rows rows.
type Width struct {
	Rows         int   `json:"rows"`
	Dispatches   int   `json:"dispatches"`
	Barriers     int   `json:"barriers"`
	WeightBytes  int64 `json:"weight_bytes"` // with as many experts as the rows select on average
	BytesRead    int64 `json:"bytes_read"`
	BytesWritten int64 `json:"bytes_written"`
	Flops        int64 `json:"flops"`
	ArenaBytes   int64 `json:"arena_bytes"` // activations

	list []Dispatch
}

// Make reports on quant profile number pi of a bundle with depth tokens in the cache. It lists the dispatches
// of a replay of rows rows, and fails if the bundle has no such sequence.
func Make(b *plan.Bundle, pi, depth, rows int) (*Report, error) {
	r := &Report{Bundle: b.Name, Act: b.Act(), Profile: b.Profiles[pi].Name, Depth: depth, Rows: rows, BatchRows: b.BatchRows(), DispatchesPerToken: len(b.Decode().Dispatches)}
	states := b.Model.State()
	r.KVBytesPerContextToken, r.StateBytesPerSession = int64(len(b.Model.CacheLayers())*b.Model.CacheDim())*2, states.Bytes()
	var have []int
	for _, q := range b.Sequences {
		w := sumUp(b, &q, pi, depth)
		r.Widths, have = append(r.Widths, w), append(have, q.Width)
		if q.Width == rows {
			r.Dispatches, r.Kernels = w.list, kernels(b, q.Dispatches)
		}
	}
	if r.Dispatches == nil {
		return nil, fmt.Errorf("%s has no sequence of %d rows; it has those of %d", b.Name, rows, have)
	}
	token := &r.Widths[0]
	r.WeightBytesPerToken, r.FlopsPerToken, r.BarriersPerToken = token.WeightBytes, token.Flops, token.Barriers
	r.Attention, r.Memory = AttentionOf(b), memory(b, &b.Profiles[pi], r)
	r.Predictions = predict(b, r)
	return r, nil
}

// sumUp counts the dispatches of a sequence.
func sumUp(b *plan.Bundle, q *plan.Sequence, pi, depth int) Width {
	w := Width{Rows: q.Width, Dispatches: len(q.Dispatches), ArenaBytes: q.ArenaBytes}
	for i := range q.Dispatches {
		d := &q.Dispatches[i]
		c := counter{b: b, d: d, k: &b.Kernels[d.Kernel], profile: &b.Profiles[pi], rows: int64(depth) + 1}
		row := c.count()
		row.Step = i
		w.list = append(w.list, row)
		w.WeightBytes, w.BytesRead, w.BytesWritten, w.Flops = w.WeightBytes+row.WeightBytes, w.BytesRead+row.BytesRead, w.BytesWritten+row.BytesWritten, w.Flops+row.Flops
		if row.Barrier {
			w.Barriers++
		}
	}
	return w
}

// kernels lists the kernels of some dispatches, each once.
func kernels(b *plan.Bundle, list []plan.Dispatch) (out []Kernel) {
	for i := range list {
		k := &b.Kernels[list[i].Kernel]
		if k := (Kernel{k.Name, k.Doc}); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// counter counts one dispatch.
type counter struct {
	b       *plan.Bundle
	d       *plan.Dispatch
	k       *plan.Kernel
	profile *plan.Profile
	rows    int64 // cache rows that each row attends to, including its own
	out     Dispatch
}

// width returns how many rows the kernel computes.
func (c *counter) width() int64 { return int64(max(1, c.k.Width)) }

// caches returns how many caches the rows attend to: in a batch each row has its own, in a prompt all have
// the same.
func (c *counter) caches() int64 {
	if c.k.Width > c.b.BatchRows() {
		return 1
	}
	return c.width()
}

func (c *counter) count() Dispatch {
	c.out = Dispatch{Layer: c.d.Layer, Kernel: c.k.Name, Variant: c.variant(), Groups: c.k.Groups(), Threads: c.k.Threads, Barrier: c.d.Barrier}
	for i, s := range c.k.Slots {
		c.slot(i, s)
	}
	for _, p := range c.k.Parts {
		c.part(p)
	}
	return c.out
}

// slot adds the bytes that a slot moves, without matrices, which part adds.
func (c *counter) slot(i int, s plan.Slot) {
	bytes := c.d.Operands[i].Bytes
	if active, all := c.splits(i); all > 0 {
		bytes = bytes / all * active
	}
	switch s.Space {
	case plan.SpaceWeight:
		if s.Elem == plan.ElemTyped {
			return
		}
		w := &c.b.Weights[c.d.Operands[i].Index]
		bytes = 4 * int64(w.Cols) * int64(w.Rows)
	case plan.SpaceKV:
		row := int64(c.b.Model.CacheDim()) * 2
		if bytes = row * c.width(); !s.Write {
			bytes = row * c.rows * c.caches()
			c.out.CacheBytes += bytes
		}
	case plan.SpaceState:
		bytes = c.b.StateMoved(c.k.Width)
		c.out.BytesRead += bytes
	case plan.SpaceHeads:
		bytes = c.b.HeadsElement() * int64(c.b.Model.HeadsPage().Elements) * int64(plan.Pages(int(c.rows)))
	case plan.SpaceRope:
		bytes = int64(c.b.Model.QKRopeHeadDim) * 4 * c.width()
	case plan.SpaceRow, plan.SpaceWanted:
		bytes = 16 * c.width()
	case plan.SpaceLogits:
		bytes = int64(c.b.Model.VocabSize) * 4 * c.width()
	}
	if s.Write {
		c.out.BytesWritten += bytes
	} else {
		c.out.BytesRead += bytes
	}
}

// splits returns how many attention splits have rows, and how many slot i has memory for; 0, 0 for other
// slots.
func (c *counter) splits(i int) (active, all int64) {
	if s := c.k.SplitsAt(i); s != nil {
		return int64(s.Used(int(c.rows))), int64(s.Count)
	}
	return 0, 0
}

// part adds a part's matrices and operations.
func (c *counter) part(p plan.Part) {
	c.out.Flops += c.width() * (c.rows*int64(plan.PairFlops(p)) + int64(plan.StateFlops(p)))
	times := c.width()
	if _, ok := p.(*plan.ExpandHeads); ok { // once for each cached row
		times = c.rows
	}
	for _, w := range plan.WeightsOf(p) {
		rows := int64(w.Needed)
		if k := w.Selected(); k > 0 {
			rows = int64(c.b.Model.MoE.Distinct(k, c.k.Width) * float64(w.Rows))
		}
		if w.LooksUp() {
			rows = c.width()
		} else {
			c.out.Flops += 2 * times * int64(w.Needed) * int64(w.Cols)
		}
		f, _ := quant.Lookup(c.typeOf(w.Slot))
		c.out.WeightBytes += rows * int64(w.Cols/f.BlockElems*f.BlockBytes)
	}
}

// typeOf returns the type of a typed slot under the profile.
func (c *counter) typeOf(slot int) quant.Type {
	o := c.d.Operands[slot]
	if o.Space == plan.SpaceKV {
		return cacheType
	}
	return c.profile.At(o.Index, c.b.Weights[o.Index].Index(c.d.LayerOf(slot)))
}

// variant returns the function of the kernel variant that the profile selects.
func (c *counter) variant() string {
	typed := c.k.TypedSlots()
next:
	for _, v := range c.k.Variants {
		for i, slot := range typed {
			if v.Types[i] != c.typeOf(slot) {
				continue next
			}
		}
		return v.Func
	}
	return ""
}
