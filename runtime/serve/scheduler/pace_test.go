package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/text/sample"
)

// slow returns the duration of a step of n rows on the first machine of TestPace. The other machines are
// functions like it.
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

// TestPace checks that rows of prompts beside decoding rows make steps at most twice as long where possible,
// and that prompts alone run as many rows as are fast.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name             string
		machine          func(int) time.Duration
		decode, most     int
		beside, alone, w int // settled
	}{
		{"slow", slow, 8, 16, 8, 16, 512},
		{"slow, one decodes", slow, 1, 16, 4, 16, 512},
		{"wide", wide, 8, 16, 8, 512, 512}, // 24 rows are another kernel's
		{"wide, one decodes", wide, 1, 8, 8, 300, 300},
		{"tiny", tiny, 8, 64, 16, 512, 512}, // a quarter, as no fewer are ever taken
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
				if took > 2*c.machine(c.decode) && n > c.most/4 && c.machine(c.decode+1) <= 2*c.machine(c.decode) {
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

// TestRound checks that a round with more rows than a step is recorded as one round, at its end.
func TestRound(t *testing.T) {
	var p pace
	r := round{prompts: 8}
	r.ran(&p, 16, 19*time.Millisecond)
	if len(p.took) != 0 {
		t.Errorf("%v is noted of half a round", p.took)
	}
	r.prompts = 0
	r.ran(&p, 8, 4*time.Millisecond)
	if len(p.took) != 1 || p.took[24] != 23*time.Millisecond {
		t.Errorf("%v is noted; expected 23 ms of 24 rows", p.took)
	}
}

// TestPaceForgets checks that a number of rows which was slow once is tried again.
func TestPaceForgets(t *testing.T) {
	var p pace
	p.ran(8, slow(8))
	p.ran(24, time.Minute)
	tried := -1
	for i := range 2 * forgetful {
		n := p.beside(8, 16)
		if n == 16 {
			tried = i
			break
		}
		p.ran(8+n, slow(8+n))
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

// TestArrivals checks eight decoding requests while others arrive with prompts of 64 tokens, on a machine
// where every row makes a step longer. 99 % of the times between two tokens of the eight are at most twice
// the median. A new request waits for at most two steps before the steps with rows of its prompt.
func TestArrivals(t *testing.T) {
	const decoding, prompt, length = 8, 64, 600
	m, runner := newModel(t, device.Config{Context: length + 10, Tables: decoding + 2, Width: 512, Pages: 200})
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	var clock time.Time
	s.now = func() time.Time { return clock }
	ran := 0
	runner.After = func() {
		rows := s.steps.Prompt + s.steps.Decode
		clock = clock.Add(slow(rows - ran))
		ran = rows
	}
	var between []time.Duration
	rng := rand.New(rand.NewPCG(1, 2))
	submit := func(prompt, max int, came func()) {
		sampler, err := sample.New(sample.Off())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Submit(t.Context(), Request{
			Continuation: Continuation{
				Prompt: slices.Collect(func(yield func(int32) bool) {
					for n := 0; n < prompt && yield(rng.Int32N(vocab)); n++ {
					}
				}),
				Max: max,
				Done: func(_ engine.Result, err error) {
					if err != nil {
						t.Error(err)
					}
				},
			},
			Sampler: sampler,
			Emit:    func(int32) bool { came(); return true },
		}); err != nil {
			t.Fatal(err)
		}
	}
	begun, under := 0, true
	for range decoding {
		var last time.Time
		submit(3, length, func() {
			if last.IsZero() {
				begun++
			} else if under && begun == decoding {
				between = append(between, clock.Sub(last))
			}
			last = clock
		})
	}
	step := func() (with bool) {
		before := s.steps.Prompt
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
		return s.steps.Prompt > before
	}
	for begun < decoding {
		step()
	}
	for i := range 25 {
		came, steps := false, 0
		submit(prompt, 4, func() { came = true })
		for !came {
			if !step() {
				steps++
			}
		}
		if steps > 2 {
			t.Errorf("arrival %d waited for %d steps beside its prompt's", i, steps)
		}
		for range 3 + (i*7)%13 {
			step()
		}
	}
	under = false
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(between)
	median, most := between[len(between)/2], between[len(between)*99/100]
	t.Logf("%d tokens: a step of 8 takes %v, the median %v, the 99th percentile %v", len(between), slow(decoding), median, most)
	if most > 2*median {
		t.Errorf("the median is %v, the 99th percentile %v", median, most)
	}
}
