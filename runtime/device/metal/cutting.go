package metal

import (
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// piece is the part of a unit's commands that becomes one command buffer.
type piece struct {
	runs      []run
	slice     *slice // runs is a single command, and the piece is this part of it; nil: the piece is all of runs
	predicted time.Duration
}

// slice is a part of a command: some of its rows or pages, which replace the unit's.
type slice struct {
	rows      []plan.Row
	pages     []uint32 // contents of block table sliceTable; nil: the unit's tables are used
	predicted time.Duration
}

// cutting cuts runs of commands into pieces, one at a time. So each piece is cut by the pace that was
// measured up to then.
type cutting struct {
	*sequence
	pace   *pace
	rows   []plan.Row // the rows that the commands run
	load   device.Load
	tables *device.Tables
	spare  uint32 // number of the block table for slices

	runs   []run   // not yet in a piece
	begun  bool    // a part of the first run is in a piece already
	slices []slice // slices of the previous command that are not yet in a piece
	sliced run
}

// newCutting returns a cutting. The load counts as many rows as the sequence is wide, as kernels compute dead
// rows, too.
func newCutting(s *sequence, p *pace, rows []plan.Row, width int, t *device.Tables, runs []run) *cutting {
	c := &cutting{sequence: s, pace: p, rows: rows, load: device.LoadOf(rows), tables: t, spare: uint32(t.Count())}
	c.load.Rows = int64(width)
	for _, r := range runs {
		if r.to > r.from {
			c.runs = append(c.runs, r)
		}
	}
	return c
}

// all predicts the time of all commands that are left.
func (c *cutting) all() (t time.Duration) {
	for _, r := range c.runs {
		for i := r.from; i < r.to; i++ {
			t += c.pace.of(&c.commands[i], c.load)
		}
	}
	return t
}

// next returns the next piece; false: none is left.
func (c *cutting) next() (p piece, ok bool) {
	if len(c.slices) > 0 {
		s := &c.slices[0]
		c.slices = c.slices[1:]
		return piece{[]run{c.sliced}, s, s.predicted}, true
	}
	for len(c.runs) > 0 {
		g, took := c.group()
		if took > c.pace.dispatch() && g.to == g.from+1 {
			if parts := c.divide(&c.commands[g.from]); len(parts) > 1 {
				if len(p.runs) > 0 {
					return p, true
				}
				c.take(g)
				c.slices, c.sliced = parts, g
				return c.next()
			}
		}
		if len(p.runs) > 0 && p.predicted+took > c.pace.buffer() {
			return p, true
		}
		if last := len(p.runs) - 1; c.begun && last >= 0 {
			p.runs[last].to = g.to
		} else {
			p.runs = append(p.runs, g)
		}
		p.predicted += took
		c.take(g)
	}
	return p, len(p.runs) > 0
}

// group returns the first commands that are left, up to the next barrier. These run in parallel and stay in
// one command buffer.
func (c *cutting) group() (g run, took time.Duration) {
	g = run{c.runs[0].from, c.runs[0].from}
	for g.to < c.runs[0].to && (g.to == g.from || !c.commands[g.to].Dispatch.Barrier) {
		took += c.pace.of(&c.commands[g.to], c.load)
		g.to++
	}
	return g, took
}

// take removes the commands of a group from those that are left.
func (c *cutting) take(g run) {
	c.runs[0].from, c.begun = g.to, true
	if c.runs[0].from == c.runs[0].to {
		c.runs, c.begun = c.runs[1:], false
	}
}

// divide cuts a command into slices, if that does not change a bit of its results. Attention over expanded
// heads is cut by rows: each threadgroup has its own rows, and dead rows store nothing. The expansion of
// heads is cut by pages, which are independent. Other commands are not cut; then the result is nil.
func (c *cutting) divide(of *command) []slice {
	rows, expands := 0, false
	for i, p := range of.Kernel.Parts {
		switch p := p.(type) {
		case *plan.AttendHeads:
			if expands || i > 0 && rows != p.RowsPerGroup {
				return nil
			}
			rows = p.RowsPerGroup
		case *plan.ExpandHeads:
			if expands = true; rows > 0 {
				return nil
			}
		default:
			return nil
		}
	}
	if expands {
		return c.byPages(of)
	}
	return c.byRows(of, rows)
}

// byRows returns slices of whole threadgroups of rows. All other rows of a slice are dead.
func (c *cutting) byRows(of *command, group int) (list []slice) {
	for from := 0; from < len(c.rows); {
		to := min(from+group, len(c.rows))
		for to < len(c.rows) && c.pace.of(of, device.LoadOf(c.rows[from:min(to+group, len(c.rows))])) <= c.pace.dispatch() {
			to = min(to+group, len(c.rows))
		}
		rows := make([]plan.Row, to)
		copy(rows[from:], c.rows[from:to])
		list = append(list, slice{rows: rows, predicted: c.pace.of(of, device.LoadOf(c.rows[from:to]))})
		from = to
	}
	return list
}

// pagesPerGroup is the most pages that a threadgroup of ExpandHeads takes at a time.
const pagesPerGroup = 2

// byPages returns slices of consecutive pages of one block table. A slice has them in a table of its own.
func (c *cutting) byPages(of *command) (list []slice) {
	page := c.pace.of(of, device.Load{Rows: 1, Pairs: plan.PageRows, Cached: plan.PageRows})
	most := max(int(c.pace.dispatch()/max(page, 1))/pagesPerGroup*pagesPerGroup, pagesPerGroup)
	for _, table := range tablesOf(c.rows) {
		longest := c.longest(table)
		for from := 0; from < longest; from += most * plan.PageRows {
			n := min(longest-from, most*plan.PageRows)
			row := plan.Row{Pos: uint32(n - 1), NKV: uint32(n), Table: c.spare}
			pages := c.tables.Of(table)[from/plan.PageRows:][:plan.Pages(n)]
			list = append(list, slice{[]plan.Row{row}, pages, time.Duration(len(pages)) * page})
		}
	}
	return list
}

// tablesOf lists the block tables of live rows, each once.
func tablesOf(rows []plan.Row) (list []uint32) {
	for _, r := range rows {
		if r.NKV > 0 && !slices.Contains(list, r.Table) {
			list = append(list, r.Table)
		}
	}
	return list
}

// longest is the largest NKV of a block table's rows.
func (c *cutting) longest(table uint32) (n int) {
	for _, r := range c.rows {
		if r.Table == table {
			n = max(n, int(r.NKV))
		}
	}
	return n
}
