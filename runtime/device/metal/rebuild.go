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

// endedForTime is the error of commands that the system has ended for their length; nil: err is none.
func endedForTime(err error) *mtl.CommandError {
	e := (*mtl.CommandError)(nil)
	if errors.As(err, &e) && e.TooLong() {
		return e
	}
	return nil
}

// tooLong notes that the system has ended commands for their length: from then on, and in later
// runs, they get half the time.
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

// explained says what helps against a *mtl.CommandError about time; other errors stay as they are.
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

// gone is an error after which the process cannot use the GPU any more: it is device.ErrNewProcess.
type gone struct{ error }

func (g gone) Unwrap() []error { return []error{g.error, device.ErrNewProcess} }

// anew is one after which the GPU may work for a runner that is loaded anew: it is device.ErrReopen.
type anew struct{ error }

func (a anew) Unwrap() []error { return []error{a.error, device.ErrReopen} }

// remember copies what a unit of rows reads and overwrites, for the case that it is run again.
func (r *runner) remember(slot int, rows []plan.Row) {
	if r.rebuilt {
		r.before = nil // nothing is run again any more
		return
	}
	list := r.overwritten(slot, rows)
	r.before = slices.Grow(r.before[:0], len(list))[:len(list)]
	for i, b := range list {
		r.before[i] = append(r.before[i][:0], b...)
	}
}

// overwritten is what a unit of rows reads and overwrites: rows and picks, which the GPU moves on,
// inputs in the arena, and the states of the rows' sessions, into which each row is folded. Cache rows
// are written again as they were.
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

// rebuild opens the GPU anew, with everything that a session may still need: the caches, the
// block tables, the states, and what the unit at hand began with: until it is there again, the
// host has the pages of the caches.
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
