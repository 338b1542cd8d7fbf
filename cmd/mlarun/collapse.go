package main

import (
	"fmt"

	"mla/runtime/doctor/checkup"
)

// fewPasses is how many consecutive passed checks are printed individually.
const fewPasses = 3

// collapser prints rows. Of many consecutive passed checks it prints only the number, so that failures stand
// out.
type collapser struct {
	print  func(checkup.Row)
	all    bool // print every row
	passed []checkup.Row
}

// row prints or holds back the next row.
func (c *collapser) row(r checkup.Row) {
	switch {
	case r.Kind == checkup.Pass && !c.all:
		c.passed = append(c.passed, r)
	case r.Kind == checkup.Now: // for the progress line; it comes between two checks
		c.print(r)
	default:
		c.flush()
		c.print(r)
	}
}

// flush prints the rows held back.
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
