package scheduler

import (
	"math/bits"
	"time"
)

// Steps are numbers of the steps since the scheduler was made.
type Steps struct {
	Prompt, Decode int // rows: of prompts, with those that are run again, and of picked tokens
	Busy           time.Duration
	Rows           [sizes]uint64 // steps by how many rows they had: at most MostRows(i)
}

// sizes is how many sizes of steps are told apart; the last one is plan.MaxWidth's.
const sizes = 13

// MostRows is the greatest number of rows of steps in Steps.Rows[i].
func MostRows(i int) int { return 1 << i }

// ahead counts a step of a given number of decoding rows that a device has made by itself.
func (s *Steps) ahead(rows int, took time.Duration) {
	s.Rows[sizeOf(rows)]++
	s.Decode += rows
	s.Busy += took
}

// sizeOf is the size of a step of a given number of rows.
func sizeOf(rows int) int { return bits.Len(uint(rows - 1)) }

// begin counts a step by the tasks of its rows, before they are run.
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
