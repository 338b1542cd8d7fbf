package metal

import (
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// piece is what one command buffer gets of a unit's commands.
type piece struct {
	runs      []run
	slice     *slice // runs is one command, of which the piece has a part; nil: all of it
	predicted time.Duration
}

// slice is a part of a command: other rows, and a block table of its own for them.
type slice struct {
	rows      []plan.Row
	pages     []uint32 // of block table number sliceTable; nil: there is none
	predicted time.Duration
}

// cutting cuts runs of commands into pieces, one after the other: each is cut by what is known
// when it is asked for.
type cutting struct {
	*sequence
	pace   *pace
	rows   []plan.Row // that the commands run
	load   device.Load
	tables *device.Tables
	spare  uint32 // number of the block table for slices

	runs   []run   // that are left
	begun  bool    // some of the first one is taken
	slices []slice // that are left of the command before the runs
	sliced run
}

// newCutting counts as many rows as a sequence is wide: kernels compute dead ones, too.
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

// all predicts what is left.
func (c *cutting) all() (t time.Duration) {
	for _, r := range c.runs {
		for i := r.from; i < r.to; i++ {
			t += c.pace.of(&c.commands[i], c.load)
		}
	}
	return t
}

// next is the next piece; false: none is left.
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

// group is the first commands that are left, up to one that waits for those before it: they
// run side by side and stay together.
func (c *cutting) group() (g run, took time.Duration) {
	g = run{c.runs[0].from, c.runs[0].from}
	for g.to < c.runs[0].to && (g.to == g.from || !c.commands[g.to].Dispatch.Barrier) {
		took += c.pace.of(&c.commands[g.to], c.load)
		g.to++
	}
	return g, took
}

func (c *cutting) take(g run) {
	c.runs[0].from, c.begun = g.to, true
	if c.runs[0].from == c.runs[0].to {
		c.runs, c.begun = c.runs[1:], false
	}
}

// divide makes slices of a command whose kernel allows it without another bit in its results:
// attention over heads by rows, as a threadgroup has its own and dead rows store nothing, and
// expanded heads by pages, each of which is made by itself. Other kernels stay whole.
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

// byRows gives each slice whole threadgroups of rows, and leaves the others dead.
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

// pagesTogether is how many pages a threadgroup of expanded heads has at a time, at most.
const pagesTogether = 2

// byPages gives each slice some pages of one block table, as another table's.
func (c *cutting) byPages(of *command) (list []slice) {
	page := c.pace.of(of, device.Load{Rows: 1, Pairs: plan.PageRows, Cached: plan.PageRows})
	most := max(int(c.pace.dispatch()/max(page, 1))/pagesTogether*pagesTogether, pagesTogether)
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

// tablesOf are the block tables of rows that are not dead, each once.
func tablesOf(rows []plan.Row) (list []uint32) {
	for _, r := range rows {
		if r.NKV > 0 && !slices.Contains(list, r.Table) {
			list = append(list, r.Table)
		}
	}
	return list
}

// longest is the most cache rows that a row of a block table attends to.
func (c *cutting) longest(table uint32) (n int) {
	for _, r := range c.rows {
		if r.Table == table {
			n = max(n, int(r.NKV))
		}
	}
	return n
}
