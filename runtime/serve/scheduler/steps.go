package scheduler

import (
	"math/bits"
	"time"
)

// Steps counts the steps since the scheduler was made.
type Steps struct {
	Prompt, Decode int // rows: of prompts, including those that were run again, and of picked tokens
	Busy           time.Duration
	Rows           [sizes]uint64 // steps by their number of rows: at most MostRows(i)
}

// sizes is the number of size classes; the last one is that of plan.MaxWidth.
const sizes = 13

// MostRows is the greatest number of rows of the steps in Steps.Rows[i].
func MostRows(i int) int { return 1 << i }

// ahead counts a step of decoding rows that a device has run ahead.
func (s *Steps) ahead(rows int, took time.Duration) {
	s.Rows[sizeOf(rows)]++
	s.Decode += rows
	s.Busy += took
}

// sizeOf is the size class of a step with a number of rows.
func sizeOf(rows int) int { return bits.Len(uint(rows - 1)) }

// begin counts a step by the tasks of its rows, before the rows are run.
func (s *Steps) begin(tasks []*task) {
	s.Rows[sizeOf(len(tasks))]++
	for _, t := range tasks {
		if t.decoding() {
			s.Decode++
		} else {
			s.Prompt++
		}
	}
}
