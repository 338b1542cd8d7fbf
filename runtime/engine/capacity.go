package engine

import (
	"fmt"
	"sort"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Limits of the context that a model gets where nobody asks for one.
//
// Caches get half of the memory that the weights leave free. The other half is for what else runs
// on the machine: a browser beside a chat, the page cache of the file, another model on the GPU.
// Metal and CUDA take the whole cache when a model is loaded, so it is not free.
//
// No session gets more than mostContext. Models that were trained for more lose track of such long
// texts, and a prompt of that length takes minutes on most machines. A user with such a text gives -c.
//
// Every model gets leastContext if that fits at all, and else what fits: a short conversation has
// to be possible on a machine that is nearly full.
const (
	mostContext  = 128 << 10
	leastContext = 4 << 10
)

// Capacity is the context that a model gets where nobody asks for one, and why it is not longer.
type Capacity struct {
	Context int
	Why     string
}

// Capacity is the context for some sessions of full length, with free bytes of memory; 0: that is not
// known. What cfg says of context, pages and tables does not count.
func (e *Engine) Capacity(cfg device.Config, sessions int, free int64) (Capacity, error) {
	limit := min(e.context, mostContext)
	smallest, err := e.taken(cfg, sessions, 1)
	if err != nil {
		return Capacity{}, err
	}
	if free <= 0 {
		return Capacity{min(leastContext, limit), "the free memory is not known"}, nil
	}
	weights := smallest.File + smallest.Copies
	if smallest.OnDevice {
		weights = smallest.File
	}
	least := min(leastContext, limit)
	n := e.Fitting(cfg, sessions, weights+(free-weights)/2)
	switch {
	case n >= limit && limit < e.context:
		return Capacity{limit, fmt.Sprintf("the most without -c; the model has %d", e.context)}, nil
	case n >= limit:
		return Capacity{limit, "all that the model has"}, nil
	case n >= least:
		return Capacity{n, fmt.Sprintf("half of the memory that the weights leave free; the model has %d", e.context)}, nil
	}
	if n = min(e.Fitting(cfg, sessions, free), least); n == 0 { // the check of the memory says why
		n = least
	}
	return Capacity{n, fmt.Sprintf("as memory allows; the model has %d", e.context)}, nil
}

// Fitting is the longest context of some sessions, at least one, with which the model takes at most
// bytes, in whole pages or the model's limit; 0: there is none.
func (e *Engine) Fitting(cfg device.Config, sessions int, bytes int64) int {
	sessions = max(sessions, 1)
	pages := sort.Search(plan.Pages(e.context), func(i int) bool {
		m, err := e.taken(cfg, sessions, e.whole(i+1))
		return err != nil || m.Total() > bytes
	})
	return e.whole(pages)
}

// whole is a context of a number of pages.
func (e *Engine) whole(pages int) int { return min(pages*plan.PageRows, e.context) }

// PagesOf is the number of pages that hold sessions of a context in tokens at full length, or as many as a device takes.
func PagesOf(sessions, context int) int {
	return min(sessions*plan.Pages(max(context, 0)), device.MaxPages)
}

// taken is the memory that some sessions of a context take.
func (e *Engine) taken(cfg device.Config, sessions, context int) (Memory, error) {
	cfg.Context, cfg.Tables = context, sessions
	cfg.Pages = PagesOf(sessions, context)
	return e.Estimate(cfg)
}

// Free is the memory in bytes for a model with its caches: the device's own, or the host's, as far
// as the device can use it. 0: it is not known.
func (e *Engine) Free() int64 {
	own, free := false, int64(0)
	if d, ok := e.device.(device.Separate); ok {
		own = d.OwnMemory()
	}
	if d, ok := e.device.(device.Limited); ok {
		free = d.Free()
	}
	if own {
		return free
	}
	if host := Available(); free == 0 || host > 0 && host < free {
		return host
	}
	return free
}
