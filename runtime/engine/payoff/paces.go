package payoff

import (
	"slices"
	"time"
)

// paces are how long steps of one kind took. The median of the last few tells what one takes, as a
// machine that others use too is slow for a while, and then is not.
type paces struct {
	last   []time.Duration // at most paceSteps
	middle time.Duration   // their median, which is asked for more often than there are steps
	ahead  float64         // what part of that a step takes that a device makes by itself; 0: not known
}

const (
	paceSteps   = 5
	paceEvery   = 8 // steps of a rest from one that counts to the next: they are not all of one slow time
	enoughAhead = 8 // steps that a device has made, which come several at a time
)

// add counts a step; left is how many steps of a rest are left.
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

// typical is how long a step takes.
func (p *paces) typical() time.Duration {
	if p.ahead == 0 {
		return p.middle
	}
	return max(time.Duration(p.ahead*float64(p.middle)), 1)
}
