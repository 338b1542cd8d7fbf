package main

import (
	"fmt"

	"mla/runtime/doctor/checkup"
)

// fewPasses is how many passed checks in a row are printed one by one.
const fewPasses = 3

// collapser prints rows, but of many checks in a row that have passed only their number: a
// report is read for what has not.
type collapser struct {
	print  func(checkup.Row)
	all    bool // print all
	passed []checkup.Row
}

// row takes the next row.
func (c *collapser) row(r checkup.Row) {
	switch {
	case r.Kind == checkup.Pass && !c.all:
		c.passed = append(c.passed, r)
	case r.Kind == checkup.Now: // of the progress line: it comes between two checks
		c.print(r)
	default:
		c.flush()
		c.print(r)
	}
}

// flush prints what is held back.
func (c *collapser) flush() {
	passed := c.passed
	c.passed = nil
	if n := len(passed); n > fewPasses {
		c.print(checkup.Row{Kind: checkup.Note, Text: fmt.Sprintf("%d checks passed, %s to %s; -v lists them", n, passed[0].Name, passed[n-1].Name)})
		return
	}
	for _, r := range passed {
		c.print(r)
	}
}
