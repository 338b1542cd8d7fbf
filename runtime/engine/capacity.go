package engine

import (
	"fmt"
	"sort"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Limits of a model's default context.
//
// Caches get half of the memory that the weights leave free. The other half is for other programs: a browser
// beside a chat, the page cache of the file, another model on the GPU. Metal and CUDA allocate the whole
// cache when a model is loaded, so an unused part of it is not free.
//
// No session gets more than mostContext by default. Models that were trained for more lose track in such long
// texts, and a prompt of that length takes minutes on most machines. Users with such texts set -c.
//
// Every model gets leastContext if that fits at all, and else as much as fits, so that a short conversation
// is possible on a machine that is nearly full.
const (
	mostContext  = 128 << 10
	leastContext = 4 << 10
)

// Capacity is the default context of a model, and the reason why it is not longer.
type Capacity struct {
	Context int
	Why     string
}

// Capacity is the default context for a number of sessions of full length, with free bytes of memory; 0:
// unknown. It ignores the context, pages and tables of cfg.
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
	if n = min(e.Fitting(cfg, sessions, free), least); n == 0 { // if nothing fits, the check of the memory explains why
		n = least
	}
	return Capacity{n, fmt.Sprintf("as memory allows; the model has %d", e.context)}, nil
}

// Fitting is the longest context with which a number of sessions, at least one, take at most bytes of memory.
// It is a number of whole pages or the model's limit; 0: none fits.
func (e *Engine) Fitting(cfg device.Config, sessions int, bytes int64) int {
	sessions = max(sessions, 1)
	pages := sort.Search(plan.Pages(e.context), func(i int) bool {
		m, err := e.taken(cfg, sessions, e.whole(i+1))
		return err != nil || m.Total() > bytes
	})
	return e.whole(pages)
}

// whole is the context of a number of whole pages.
func (e *Engine) whole(pages int) int { return min(pages*plan.PageRows, e.context) }

// PagesOf is the number of pages for sessions of a context in tokens, all at full length, up to the most that
// a device supports.
func PagesOf(sessions, context int) int {
	return min(sessions*plan.Pages(max(context, 0)), device.MaxPages)
}

// taken is the memory for a number of sessions of a context.
func (e *Engine) taken(cfg device.Config, sessions, context int) (Memory, error) {
	cfg.Context, cfg.Tables = context, sessions
	cfg.Pages = PagesOf(sessions, context)
	return e.Estimate(cfg)
}

// Free is the memory in bytes for a model with its caches: the device's own, or as much of the host's as the
// device can use. 0: unknown.
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
