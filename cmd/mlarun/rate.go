package main

import (
	"fmt"
	"time"
)

// rateWindow is how far back a rate looks, at least, and half of how far at most. A long
// prompt gets slower as it goes on, so its mean would promise too much.
const rateWindow = 4 * time.Second

// rate says how fast something goes on, by marks of when how much was done.
type rate struct {
	from, next mark // from is what the rate is counted from, next will be
}

type mark struct {
	at   time.Time
	done int64
}

// add tells how much is done now.
func (r *rate) add(now time.Time, done int64) {
	switch {
	case r.from.at.IsZero():
		r.from = mark{now, done}
		r.next = r.from
	case now.Sub(r.next.at) >= rateWindow:
		r.from, r.next = r.next, mark{now, done}
	}
}

// left is the rate, as per writes it, and the time until all is done, after a comma; ""
// before there is a rate.
func (r *rate) left(now time.Time, done, total int64, per func(perSecond float64) string) string {
	n, took := done-r.from.done, now.Sub(r.from.at)
	if n <= 0 || took <= 0 {
		return ""
	}
	each := took.Seconds() / float64(n)
	rest := time.Duration(each * float64(total-done) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf(", %s/s, %s left", per(1/each), rest)
}

// fourDigits writes a rate of tokens.
func fourDigits(perSecond float64) string { return fmt.Sprintf("%.4g", perSecond) }
