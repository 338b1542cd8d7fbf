package device

import (
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Work is the cost of a command as a function of a replay's rows: floating-point operations of its products,
// two for each multiplication, and bytes that it moves.
type Work struct {
	RowFlops    int64 // for each row of the kernel
	PairFlops   int64 // for each pair of a row and a cache row that it attends to
	CachedFlops int64 // for each cache row of the pages that rows attend to
	Bytes       int64 // independent of the rows
	PairBytes   int64
	CachedBytes int64
	SplitBytes  int64       // for each row and each split of its cache rows: the split's result
	Splits      plan.Splits // how attention is split
}

// Load is the numbers of a replay's rows and cache rows.
type Load struct {
	Rows   int64
	Pairs  int64 // pairs of a row and a cache row that it attends to
	Cached int64 // cache rows of all block tables of the rows, each table once
	Depths []int // by row: how many cache rows it attends to
}

// LoadOf counts rows. Dead rows do not count.
func LoadOf(rows []plan.Row) (l Load) {
	most := map[uint32]uint32{}
	for _, r := range rows {
		if r.NKV > 0 {
			l.Rows++
			l.Pairs += int64(r.NKV)
			l.Depths = append(l.Depths, int(r.NKV))
			most[r.Table] = max(most[r.Table], r.NKV)
		}
	}
	for _, n := range most {
		l.Cached += int64(plan.Pages(int(n))) * plan.PageRows
	}
	return l
}

// Of returns the operations and the bytes for a load.
func (w *Work) Of(l Load) (flops, bytes int64) {
	flops = w.RowFlops*l.Rows + w.PairFlops*l.Pairs + w.CachedFlops*l.Cached
	bytes = w.Bytes + w.PairBytes*l.Pairs + w.CachedBytes*l.Cached
	if w.SplitBytes > 0 {
		for _, n := range l.Depths {
			bytes += w.SplitBytes * int64(w.Splits.Used(n))
		}
	}
	return flops, bytes
}

// flopsOf is the operations only, which do not depend on types.
func flopsOf(c *Command) (w Work) {
	for _, p := range c.Kernel.Parts {
		w.PairFlops += int64(plan.PairFlops(p))
		w.RowFlops += int64(plan.StateFlops(p))
		to := &w.RowFlops
		if _, ok := p.(*plan.ExpandHeads); ok { // for each cached row, not for each row of the kernel
			to = &w.CachedFlops
		}
		for _, m := range plan.WeightsOf(p) {
			if !m.LooksUp() {
				*to += 2 * int64(m.Needed) * int64(m.Cols)
			}
		}
	}
	return w
}

// Flops sums the operations of all commands.
func (r *Recording) Flops() (w Work) {
	for i := range r.Commands {
		one := flopsOf(&r.Commands[i])
		w.RowFlops += one.RowFlops
		w.PairFlops += one.PairFlops
		w.CachedFlops += one.CachedFlops
	}
	return w
}

// Work is the cost of a command with a type of the cache. In a batch each row reads the cache rows of its own
// session; in a prompt all rows read the same ones.
func (m *Model) Work(c *Command, kv quant.Type) Work {
	w := flopsOf(c)
	w.Bytes = m.Traffic(c, kv, 0)
	for i, s := range c.Kernel.Slots {
		switch splits := c.Kernel.SplitsAt(i); {
		case splits != nil && splits.Count > 0:
			w.SplitBytes += c.Dispatch.Operands[i].Bytes / int64(splits.Count*max(c.Kernel.Width, 1))
			w.Splits = *splits
		case s.Space == plan.SpaceKV && !s.Write && c.Kernel.Width > m.Bundle.BatchRows():
			w.CachedBytes += rowBytes(kv, m.Bundle.Model.CacheDim())
		case s.Space == plan.SpaceKV && !s.Write:
			w.PairBytes += rowBytes(kv, m.Bundle.Model.CacheDim())
		case s.Space == plan.SpaceHeads:
			w.CachedBytes += m.Bundle.HeadsElement() * int64(m.Bundle.Model.HeadsPage().Elements) / plan.PageRows
		}
	}
	return w
}
