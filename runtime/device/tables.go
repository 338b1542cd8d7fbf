package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// Tables is the host's copy of a runner's block tables. It checks which pages a row may touch, so that a
// device never reads or writes through an unset entry.
type Tables struct {
	// Entries is the device's copy: [tables][MaxPages].
	Entries  []uint32
	maxPages int
	pages    int   // number of pages in the caches
	assigned []int // by table: how many leading entries have a page
}

// NewTables returns a number of tables without pages.
func NewTables(tables, maxPages, pages int) *Tables {
	return &Tables{Entries: make([]uint32, tables*maxPages), maxPages: maxPages, pages: pages, assigned: make([]int, tables)}
}

// Pages is how many pages there are.
func (t *Tables) Pages() int { return t.pages }

// Count is how many tables there are.
func (t *Tables) Count() int { return len(t.assigned) }

// Of returns the entries of a table that have a page.
func (t *Tables) Of(table uint32) []uint32 {
	return t.Entries[int(table)*t.maxPages:][:t.assigned[table]]
}

// Assign sets the entries of a table from entry first on to pages. first is at most the number of entries
// that have a page. Later entries lose theirs. Assign returns the index in Entries of the first one set.
func (t *Tables) Assign(table, first int, pages []uint32) (at int, err error) {
	switch {
	case table < 0 || table >= len(t.assigned):
		return 0, fmt.Errorf("block table %d of %d", table, len(t.assigned))
	case first < 0 || first > t.assigned[table] || len(pages) > t.maxPages-first:
		return 0, fmt.Errorf("%d pages from entry %d on in a block table of %d, of which %d have a page", len(pages), first, t.maxPages, t.assigned[table])
	}
	for _, p := range pages {
		if uint64(p) >= uint64(t.pages) {
			return 0, fmt.Errorf("page %d of %d", p, t.pages)
		}
	}
	at = table*t.maxPages + first
	copy(t.Entries[at:], pages)
	t.assigned[table] = first + len(pages)
	return at, nil
}

// Write copies n entries from index at on to the same place in dst, the device's copy.
func (t *Tables) Write(dst []byte, at, n int) {
	for i, p := range t.Entries[at : at+n] {
		binary.LittleEndian.PutUint32(dst[4*(at+i):], p)
	}
}

// WriteSpare writes pages to a spare table in dst, which follows the sessions' tables.
func (t *Tables) WriteSpare(dst []byte, pages []uint32) {
	for i, p := range pages {
		binary.LittleEndian.PutUint32(dst[4*(len(t.Entries)+i):], p)
	}
}

// Check fails for rows whose position has no page, and for rows of one session that are not consecutive.
func (t *Tables) Check(rows ...plan.Row) error {
	for i, r := range rows {
		if err := t.check(r); err != nil {
			return err
		}
		for _, before := range slices.Backward(rows[:i]) {
			if before.Table == r.Table {
				if r.Pos != before.Pos+1 {
					return fmt.Errorf("position %d of block table %d after %d; expected %d", r.Pos, r.Table, before.Pos, before.Pos+1)
				}
				break
			}
		}
	}
	return nil
}

func (t *Tables) check(r plan.Row) error {
	if uint64(r.Table) >= uint64(len(t.assigned)) {
		return fmt.Errorf("block table %d of %d", r.Table, len(t.assigned))
	}
	if have := t.assigned[r.Table]; uint64(r.Pos)/plan.PageRows >= uint64(have) {
		return fmt.Errorf("position %d has no page: block table %d has %d of %d rows", r.Pos, r.Table, have, plan.PageRows)
	}
	return nil
}

// Place is the index of a position's cache row among the rows of all pages.
func (t *Tables) Place(r plan.Row) int64 {
	page := t.Entries[int(r.Table)*t.maxPages+int(r.Pos)/plan.PageRows]
	return int64(page)*plan.PageRows + int64(r.Pos)%plan.PageRows
}

// CheckCopy fails if rows [0, n) of one page cannot be copied to another.
func (t *Tables) CheckCopy(from, to uint32, n int) error {
	if uint64(max(from, to)) >= uint64(t.pages) || from == to || n < 1 || n > plan.PageRows {
		return fmt.Errorf("%d rows of page %d to page %d of %d", n, from, to, t.pages)
	}
	return nil
}

// CheckPage fails if the page is out of range, or if bytes, the length of the caller's slice, is not
// pageBytes.
func (t *Tables) CheckPage(page uint32, bytes, pageBytes int) error {
	if uint64(page) >= uint64(t.pages) || bytes != pageBytes {
		return fmt.Errorf("%d bytes for page %d of %d, each of %d bytes", bytes, page, t.pages, pageBytes)
	}
	return nil
}

// LoadSingle loads a model for one session: block table 0 holds all pages in order.
func LoadSingle(d Device, m *Model, cfg Config) (Runner, error) {
	cfg.Tables, cfg.Pages = 1, plan.Pages(cfg.Context)
	r, err := d.Load(m, cfg)
	if err != nil {
		return nil, err
	}
	pages := make([]uint32, cfg.Pages)
	for i := range pages {
		pages[i] = uint32(i)
	}
	if err := r.Assign(0, 0, pages); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
