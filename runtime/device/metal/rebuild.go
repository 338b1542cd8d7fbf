package metal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// endedForTime returns the error of commands that the system has ended because they took too long; nil: err
// is not such an error.
func endedForTime(err error) *mtl.CommandError {
	e := (*mtl.CommandError)(nil)
	if errors.As(err, &e) && e.TooLong() {
		return e
	}
	return nil
}

// tooLong says whether the system has ended commands because they took too long. If so, it halves the budget,
// for later runs, too.
func (r *runner) tooLong(err error) bool {
	e := endedForTime(err)
	if e == nil {
		return false
	}
	r.pace.halve()
	r.stepPace.halve()
	r.budgetKept = r.keepBudget(r.pace.budget, e.Error())
	return true
}

// explained adds advice to a *mtl.CommandError about time. Other errors stay as they are.
func (r *runner) explained(err error) error {
	if endedForTime(err) == nil {
		return err
	}
	again := ""
	if r.rebuilt {
		again, err = ", also after the GPU was opened anew", gone{err}
	} else {
		err = anew{err}
	}
	next := "Start it again"
	if r.budgetKept {
		next += fmt.Sprintf(": command buffers get at most %v from now on", r.pace.budget)
	}
	return fmt.Errorf("%w: macOS ends what keeps the GPU busy for long%s, and then may refuse this program everything. "+
		"%s. A display that sleeps, fewer programs that draw, and a smaller -width help, too", err, again, next)
}

// gone is an error after which this process cannot use the GPU any more; its chain has device.ErrNewProcess.
type gone struct{ error }

func (g gone) Unwrap() []error { return []error{g.error, device.ErrNewProcess} }

// anew is an error after which the GPU may work for a new runner; its chain has device.ErrReopen.
type anew struct{ error }

func (a anew) Unwrap() []error { return []error{a.error, device.ErrReopen} }

// remember saves the memory that a unit reads and overwrites, so that the unit can run again.
func (r *runner) remember(slot int, rows []plan.Row) {
	if r.rebuilt {
		r.before = nil // a unit is rerun at most once per runner
		return
	}
	list := r.overwritten(slot, rows)
	r.before = slices.Grow(r.before[:0], len(list))[:len(list)]
	for i, b := range list {
		r.before[i] = append(r.before[i][:0], b...)
	}
}

// overwritten is the memory that a unit both reads and overwrites: rows and picks, which the GPU updates,
// inputs in the arena, and the states of the rows' sessions. A second run writes the same cache rows again.
func (r *runner) overwritten(slot int, rows []plan.Row) [][]byte {
	list := [][]byte{r.memory.rows[slot].Bytes()}
	if b := r.memory.Spaces[plan.SpacePick]; !b.Nil() {
		list = append(list, b.Bytes())
	}
	if r.bundle.Decode().Input != nil {
		list = append(list, r.memory.Spaces[plan.SpaceArena].Bytes())
	}
	if r.stateBytes > 0 {
		for _, table := range tablesOf(rows) {
			list = append(list, r.memory.Spaces[plan.SpaceState].Bytes()[int(table)*r.stateBytes:][:r.stateBytes])
		}
	}
	return list
}

// rebuild opens the GPU anew and restores everything that a session may still need: caches, block tables,
// states, and the memory from remember. Meanwhile the host holds a copy of the caches.
func (r *runner) rebuild(slot int, rows []plan.Row) error {
	caches := r.hostCaches()
	pages := map[uint32][]byte{}
	for page := range uint32(caches.Pages) {
		if !caches.Empty(page) {
			pages[page] = make([]byte, r.pageBytes)
			caches.Read(page, pages[page])
		}
	}
	var states []byte
	if r.stateBytes > 0 {
		states = bytes.Clone(r.memory.Spaces[plan.SpaceState].Bytes())
	}
	r.release()
	if err := mtl.Pool(r.refill); err != nil {
		return fmt.Errorf("opening the GPU anew: %w", err)
	}
	caches = r.hostCaches()
	for page, data := range pages {
		caches.Write(page, data)
	}
	if states != nil {
		copy(r.memory.Spaces[plan.SpaceState].Bytes(), states)
	}
	r.tables.Write(r.memory.Spaces[plan.SpaceTables].Bytes(), 0, len(r.tables.Entries))
	for i, b := range r.overwritten(slot, rows) {
		copy(b, r.before[i])
	}
	r.before = nil
	return nil
}
