package main

import (
	"fmt"
	"time"
)

// rateWindow is the least time over which a rate is computed; the greatest is twice as long. A long prompt
// slows down, so the mean over all of it would be too optimistic.
const rateWindow = 4 * time.Second

// rate computes the current speed from marks of the time and the amount done.
type rate struct {
	from, next mark // from is the mark from which the rate is computed, next its successor
}

type mark struct {
	at   time.Time
	done int64
}

// add records how much is done now.
func (r *rate) add(now time.Time, done int64) {
	switch {
	case r.from.at.IsZero():
		r.from = mark{now, done}
		r.next = r.from
	case now.Sub(r.next.at) >= rateWindow:
		r.from, r.next = r.next, mark{now, done}
	}
}

// left returns the rate, formatted by per, and the remaining time, after a comma; "" if there is no rate yet.
func (r *rate) left(now time.Time, done, total int64, per func(perSecond float64) string) string {
	n, took := done-r.from.done, now.Sub(r.from.at)
	if n <= 0 || took <= 0 {
		return ""
	}
	each := took.Seconds() / float64(n)
	rest := time.Duration(each * float64(total-done) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf(", %s/s, %s left", per(1/each), rest)
}

// fourDigits formats a rate of tokens.
func fourDigits(perSecond float64) string { return fmt.Sprintf("%.4g", perSecond) }
