package scheduler

import (
	"testing"
	"time"
)

// The machines of TestPace: how long a step of n rows takes.
func slow(n int) time.Duration { return time.Duration(50+30*n) * time.Millisecond }

func wide(n int) time.Duration {
	switch {
	case n == 1:
		return 10 * time.Millisecond
	case n <= 16:
		return 21 * time.Millisecond
	}
	return time.Duration(60+n/10) * time.Millisecond
}

func tiny(n int) time.Duration { return time.Duration(100+30*n) * time.Microsecond }

// TestPace: rows of prompts beside those that decode make steps at most twice as long, where
// that is possible, and prompts alone run as many rows as are quick.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name             string
		machine          func(int) time.Duration
		decode, most     int
		beside, alone, w int // settled
	}{
		{"slow", slow, 8, 16, 8, 16, 512},
		{"slow, one decodes", slow, 1, 16, 2, 16, 512},
		{"wide", wide, 8, 16, 8, 512, 512}, // 24 rows are another kernel's
		{"wide, one decodes", wide, 1, 8, 8, 300, 300},
		{"tiny", tiny, 8, 64, 64, 512, 512},
		{"narrow", slow, 3, 16, 4, 12, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pace
			late := 0
			n := 0
			for i := range 2000 {
				p.ran(c.decode, c.machine(c.decode))
				n = p.beside(c.decode, c.most)
				took := c.machine(c.decode + n)
				p.ran(c.decode+n, took)
				if took > max(unnoticed, 2*c.machine(c.decode)) && c.machine(c.decode+1) <= 2*c.machine(c.decode) {
					late++
				}
				if i == 100 && n != c.beside {
					t.Errorf("%d rows beside %d; expected %d", n, c.decode, c.beside)
				}
			}
			if late > 20 {
				t.Errorf("%d of 2000 steps were too long", late)
			}
			p = pace{}
			for range 20 {
				n = p.alone(min(16, c.w), c.w)
				p.ran(n, c.machine(n))
			}
			if n != c.alone {
				t.Errorf("%d rows of prompts alone; expected %d", n, c.alone)
			}
		})
	}
}

// TestPaceForgets: a number of rows that was slow once is tried again.
func TestPaceForgets(t *testing.T) {
	var p pace
	p.ran(8, slow(8))
	p.ran(24, time.Minute)
	tried := -1
	for i := range 2 * forgetful {
		if n := p.beside(8, 16); n == 16 {
			tried = i
			break
		} else if n != 8 {
			t.Fatalf("%d rows", n)
		}
		p.ran(16, slow(16))
	}
	if tried < forgetful/2 {
		t.Errorf("tried again after %d steps", tried)
	}
	p = pace{}
	p.ran(32, time.Minute)
	for range 2 * forgetful {
		p.ran(16, time.Millisecond)
		if p.alone(16, 512) == 32 {
			return
		}
	}
	t.Error("32 rows are not tried again")
}
