package device

import (
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Work is what a command makes of the rows of a replay: operations of its products, two for each
// number that another is multiplied by, and bytes that it moves.
type Work struct {
	RowFlops    int64 // for each row, as many as the kernel has
	PairFlops   int64 // for each row and each cache row that it attends to
	CachedFlops int64 // for each cache row of the pages that rows attend to
	Bytes       int64 // whatever the rows are
	PairBytes   int64
	CachedBytes int64
	SplitBytes  int64       // for each row and each split of its cache rows: what attention leaves to be combined
	Splits      plan.Splits // how these are cut
}

// Load is how many of each the rows of a replay are.
type Load struct {
	Rows   int64
	Pairs  int64 // rows with each of the cache rows that they attend to
	Cached int64 // cache rows of all their pages, those of one block table counted once
	Depths []int // how many cache rows each attends to
}

// LoadOf counts rows; dead ones count for nothing.
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

// Of is the operations and the bytes for a load.
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

// flopsOf is the operations alone, which do not depend on types.
func flopsOf(c *Command) (w Work) {
	for _, p := range c.Kernel.Parts {
		w.PairFlops += int64(plan.PairFlops(p))
		w.RowFlops += int64(plan.StateFlops(p))
		to := &w.RowFlops
		if _, ok := p.(*plan.ExpandHeads); ok { // of cached rows, not of the kernel's
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

// Flops is the operations of all commands.
func (r *Recording) Flops() (w Work) {
	for i := range r.Commands {
		one := flopsOf(&r.Commands[i])
		w.RowFlops += one.RowFlops
		w.PairFlops += one.PairFlops
		w.CachedFlops += one.CachedFlops
	}
	return w
}

// Work is what a command does, with a cache of a type. Of a batch each row reads the cache rows of
// its own session; of a prompt all rows read the same.
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
