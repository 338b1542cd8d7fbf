// Package describe reports what a bundle does per token: every dispatch with
// its bytes and operations, the totals, and what they predict for a device.
package describe

import (
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Report is one token's work under one quant profile, with an f16 cache.
type Report struct {
	Bundle                 string       `json:"bundle"`
	Act                    string       `json:"act"` // activations, f32 or f16
	Profile                string       `json:"profile"`
	Depth                  int          `json:"depth"`
	DispatchesPerToken     int          `json:"dispatches_per_token"`
	BarriersPerToken       int          `json:"barriers_per_token"`
	WeightBytesPerToken    int64        `json:"weight_bytes_per_token"`
	KVBytesPerContextToken int64        `json:"kv_bytes_per_context_token"`
	FlopsPerToken          int64        `json:"flops_per_token"`
	Dispatches             []Dispatch   `json:"dispatches"`
	Kernels                []Kernel     `json:"kernels"`
	Attention              []Attention  `json:"attention"`
	Predictions            []Prediction `json:"predictions"`

	measured *Timing // nil: nothing was
}

// Dispatch is one row of the report.
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
	CacheBytes   int64  `json:"cache_bytes"` // of these, of the cache
	BytesWritten int64  `json:"bytes_written"`
	Flops        int64  `json:"flops"`
}

// Kernel says what a kernel does.
type Kernel struct {
	Name string `json:"name"`
	Does string `json:"does"` // which ops were fused, and what that saves
}

// cacheType is what the report counts the latent cache as.
const cacheType = quant.F16

// Make reports on profile number pi of a bundle at depth cached positions.
func Make(b *plan.Bundle, pi, depth int) *Report {
	p := &b.Profiles[pi]
	r := &Report{Bundle: b.Name, Act: b.Act(), Profile: p.Name, Depth: depth, DispatchesPerToken: len(b.Decode)}
	r.KVBytesPerContextToken = int64(b.Model.NumHiddenLayers*b.Model.CacheDim()) * 2
	for i := range b.Decode {
		c := counter{b: b, d: &b.Decode[i], k: &b.Kernels[b.Decode[i].Kernel], profile: p, rows: int64(depth) + 1}
		row := c.count()
		row.Step = i
		r.Dispatches = append(r.Dispatches, row)
		if k := (Kernel{c.k.Name, c.k.Doc}); !slices.Contains(r.Kernels, k) {
			r.Kernels = append(r.Kernels, k)
		}
		r.WeightBytesPerToken += row.WeightBytes
		r.FlopsPerToken += row.Flops
		if row.Barrier {
			r.BarriersPerToken++
		}
	}
	r.Attention = attention(b)
	r.Predictions = predict(&b.Model, r)
	return r
}

// counter counts one dispatch.
type counter struct {
	b       *plan.Bundle
	d       *plan.Dispatch
	k       *plan.Kernel
	profile *plan.Profile
	rows    int64 // cache rows attended to, the new one included
	out     Dispatch
}

func (c *counter) count() Dispatch {
	c.out = Dispatch{Layer: c.d.Layer, Kernel: c.k.Name, Variant: c.variant(), Groups: c.k.Groups(), Threads: c.k.Threads, Barrier: c.d.Barrier}
	for i, s := range c.k.Slots {
		c.slot(i, s)
	}
	for _, p := range c.k.AllParts() {
		c.part(p)
	}
	return c.out
}

// slot adds what a slot moves besides matrices, which parts add.
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
		bytes = 4 * int64(c.b.Weights[c.d.Operands[i].Index].Cols)
	case plan.SpaceKV:
		row := int64(c.b.Model.CacheDim()) * 2
		if bytes = row; !s.Write {
			bytes = row * c.rows
			c.out.CacheBytes += bytes
		}
	case plan.SpaceHeads:
		size := int64(4)
		if c.b.Activations == plan.ElemF16 {
			size = 2
		}
		bytes = size * int64(c.b.Model.HeadsPage().Elements) * int64(plan.Pages(int(c.rows)))
	case plan.SpaceRope:
		bytes = int64(c.b.Model.QKRopeHeadDim) * 4
	case plan.SpaceRow, plan.SpaceWanted:
		bytes = 16
	case plan.SpaceLogits:
		bytes = int64(c.b.Model.VocabSize) * 4
	}
	if s.Write {
		c.out.BytesWritten += bytes
	} else {
		c.out.BytesRead += bytes
	}
}

// splits says how many attention splits hold rows, and how many slot i has room
// for; 0, 0 for other slots.
func (c *counter) splits(i int) (active, all int64) {
	for _, p := range c.k.Parts {
		var s plan.Splits
		switch p := p.(type) {
		case *plan.Attend:
			if i != p.Out && i != p.ML {
				continue
			}
			s = p.Splits
		case *plan.MatVec:
			if p.Combine == nil || i != p.Combine.Out && i != p.Combine.ML {
				continue
			}
			s = p.Combine.Splits
		default:
			continue
		}
		return int64(s.Used(int(c.rows))), int64(s.Count)
	}
	return 0, 0
}

// part adds a part's matrices and operations.
func (c *counter) part(p plan.Part) {
	switch p := p.(type) {
	case *plan.Embed:
		c.matrix(p.W, 1, 0)
	case *plan.MatVec:
		rows := int64(p.Batch) * int64(p.Rows)
		c.matrix(p.W, rows, 1)
		if p.Up >= 0 {
			c.matrix(p.Up, rows, 1)
		}
	case *plan.Experts:
		rows := int64(p.K) * int64(p.Rows)
		c.matrix(p.W, rows, 1)
		if p.Up >= 0 {
			c.matrix(p.Up, rows, 1)
		}
	case *plan.ExpertsSum:
		c.matrix(p.W, int64(p.K)*int64(p.Rows), 1)
		if p.Shared >= 0 {
			c.matrix(p.Shared, int64(p.Rows), 1)
		}
	case *plan.Attend:
		c.out.Flops += 2 * int64(p.Heads) * int64(2*p.LatDim+p.PeDim) * c.rows
	}
}

// matrix adds rows of a weight; each is multiplied times over.
func (c *counter) matrix(slot int, rows, times int64) {
	w := &c.b.Weights[c.d.Operands[slot].Index]
	f, _ := quant.Lookup(c.typeOf(slot))
	c.out.WeightBytes += rows * int64(w.Cols/f.BlockElems*f.BlockBytes)
	c.out.Flops += 2 * times * rows * int64(w.Cols)
}

// typeOf is the type of a typed slot under the profile.
func (c *counter) typeOf(slot int) quant.Type {
	o := c.d.Operands[slot]
	if o.Space == plan.SpaceKV {
		return cacheType
	}
	layer := 0
	if first := c.b.Weights[o.Index].First; first >= 0 {
		layer = c.d.LayerOf(slot) - first
	}
	return c.profile.At(o.Index, layer)
}

// variant names the kernel variant that the profile picks.
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
