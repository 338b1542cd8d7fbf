package payoff

import (
	"slices"
	"time"
)

// paces is the times of the last steps of one kind. Their median is the typical time, because a machine that
// other programs use is slow now and then.
type paces struct {
	last   []time.Duration // at most paceSteps
	middle time.Duration   // median of last, which is read more often than last changes
	ahead  float64         // time of a step that a device makes ahead, divided by middle; 0: unknown
}

const (
	paceSteps   = 5
	paceEvery   = 8 // during a rest, one of this many steps counts, so that not all are of one slow period
	enoughAhead = 8 // least number of steps ahead that count; they come several at a time
)

// add counts a step; left is the number of steps left of a rest.
func (p *paces) add(took time.Duration, left int) {
	if len(p.last) == paceSteps {
		if left%paceEvery != 0 {
			return
		}
		p.last = slices.Delete(p.last, 0, 1)
	}
	p.last = append(p.last, max(took, 1))
	p.middle = median(p.last)
}

func (p *paces) goAhead(took time.Duration) {
	p.ahead = min(float64(took)/float64(p.middle), 1)
}

// typical is the typical time of a step.
func (p *paces) typical() time.Duration {
	if p.ahead == 0 {
		return p.middle
	}
	return max(time.Duration(p.ahead*float64(p.middle)), 1)
}
