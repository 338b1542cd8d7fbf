package scheduler

import "time"

// pace decides how many rows of prompts run in one batch, by the measured times of steps. While requests
// decode, a step with rows of prompts should take at most twice as long as one without. While none decodes,
// more rows take less time per row, but a new request should not wait long for the end of a step.
type pace struct {
	took    map[int]time.Duration // of a round, by its rows: running means
	refused map[int]int           // by rows: how often this number was refused as too slow since it was last run
}

const (
	patience  = 250 * time.Millisecond // longest step with prompts only
	slowdown  = 1.875                  // largest ratio of steps with rows of prompts to steps without; below 2, as single steps exceed the mean
	forgetful = 256                    // refusals after which a number of rows is tried again
)

// ran records the time of a round.
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

// about is the expected time of a step with a number of rows: its measured mean, or an interpolation between
// fewer and more rows. Without measurements of more rows it is at least the time of fewer; without
// measurements of fewer, at least the proportional share of more.
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
	above := min(p.took[high], p.took[low]*time.Duration(high)/time.Duration(low)) // a longer time was a coincidence
	return p.took[low] + (above-p.took[low])*time.Duration(rows-low)/time.Duration(high-low)
}

// around returns the nearest measured numbers of rows below and above; 0: none.
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

// beside is how many rows of prompts run beside those of decoding requests: at most most, and at least a
// quarter of that, so that a new request does not wait forever.
func (p *pace) beside(decode, most int) int {
	alone := p.about(decode)
	if alone == 0 {
		return most
	}
	limit, least := time.Duration(slowdown*float64(alone)), (most+3)/4
	// If even the least number is too slow, fewer rows do not help.
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

// refuse records that a number of rows was too slow. The cause may have been temporary, or a long context, so
// the number is tried again later.
func (p *pace) refuse(rows int) {
	if p.refused[rows]++; p.refused[rows] > forgetful {
		delete(p.took, rows)
		p.refused[rows] = 0
	}
}

// alone is how many rows of prompts run in one batch while no request decodes: at least least, at most width.
// It doubles after a step that was fast enough.
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
