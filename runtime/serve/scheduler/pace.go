package scheduler

import "time"

// pace decides how many rows of prompts run in one batch, by how long steps have taken. While
// others decode, a step with rows of prompts should not take more than twice as long as one
// without, as far as that can be had; while none decodes, many
// rows are quicker per row, but a new request should not wait long for the end of a step.
type pace struct {
	took    map[int]time.Duration // of a round, by its rows: running means
	refused map[int]int           // how often a number of rows was too slow since it was run
}

const (
	patience  = 250 * time.Millisecond // a step of prompts alone
	slowdown  = 1.875                  // steps with rows of prompts to those without: some take longer than their mean
	forgetful = 256                    // refusals until a number of rows is tried again
)

// ran notes a round.
func (p *pace) ran(rows int, took time.Duration) {
	if p.took == nil {
		p.took, p.refused = map[int]time.Duration{}, map[int]int{}
	}
	if mean := p.took[rows]; mean == 0 {
		p.took[rows] = took
	} else {
		p.took[rows] += (took - mean) / 8
	}
	p.refused[rows] = 0
}

// about is how long a step of a given number of rows takes: what it took before, or between those with
// fewer and with more; where there are none with more, at least as long as one with fewer,
// and where there are none with fewer, at least its share of one with more.
func (p *pace) about(rows int) time.Duration {
	low, high := p.around(rows)
	switch {
	case low == 0 && high == 0:
		return 0
	case low == 0:
		return p.took[high] * time.Duration(rows) / time.Duration(high)
	case high == 0 || high == low:
		return p.took[low]
	}
	above := min(p.took[high], p.took[low]*time.Duration(high)/time.Duration(low)) // what is more was bad luck
	return p.took[low] + (above-p.took[low])*time.Duration(rows-low)/time.Duration(high-low)
}

// around are the numbers of rows next to some that steps have had; 0: none.
func (p *pace) around(rows int) (low, high int) {
	for n := range p.took {
		if n <= rows && n > low {
			low = n
		}
		if n >= rows && (n < high || high == 0) {
			high = n
		}
	}
	return low, high
}

// beside is how many rows of prompts, at most a given number and at least a quarter of that, run
// beside those of requests that decode: a new request must not wait forever either.
func (p *pace) beside(decode, most int) int {
	alone := p.about(decode)
	if alone == 0 {
		return most
	}
	limit, least := time.Duration(slowdown*float64(alone)), (most+3)/4
	// Where the fewest are as slow, fewer are no help.
	if few := p.about(decode + least); few > limit {
		limit = few + few/4
	}
	for n := most; n > least; n = max(n/2, least) {
		if p.about(decode+n) <= limit {
			return n
		}
		p.refuse(decode + n)
	}
	return least
}

// refuse notes that a number of rows was too slow. What was so once may have been the
// machine's fault, or a long context's, so it is tried again after a while.
func (p *pace) refuse(rows int) {
	if p.refused[rows]++; p.refused[rows] > forgetful {
		delete(p.took, rows)
		p.refused[rows] = 0
	}
}

// alone is how many rows of prompts run in one batch while nobody decodes: from least, which
// always may, to as many as a step has. The step is twice as wide as one that was quick.
func (p *pace) alone(least, width int) int {
	n := least
	for n < width {
		next := min(2*n, width)
		low, _ := p.around(next)
		if low < n {
			return n
		}
		if p.took[low]*time.Duration(next)/time.Duration(low) > patience {
			p.refuse(next)
			return n
		}
		n = next
	}
	return n
}
