package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// one is a single stream beside mlarun bench: how much longer a token takes, and what of
// that is the server's.
func (l *load) one() (rows []row, err error) {
	s, err := l.serve(1, l.threads, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var wall, cpu, outside, ratio, alone, single []float64
	for range l.rounds {
		b, err := l.bench(1, 1)
		if err != nil {
			return nil, err
		}
		each, err := l.bench(1, 1, "-ahead", "1")
		if err != nil {
			return nil, err
		}
		single = append(single, 1e3/each.TokS)
		before, err := s.sample()
		if err != nil {
			return nil, err
		}
		a, err := s.ask(l.newPrompt(1), l.tokens, nil) // of one token, so that all steps are of one row
		if err != nil {
			return nil, err
		}
		after, err := s.sample()
		if err != nil {
			return nil, err
		}
		n := float64(l.tokens)
		took := a.tokens[len(a.tokens)-1].Sub(a.tokens[0]).Seconds() / (n - 1)
		busy := (after.busy - before.busy) / n
		alone = append(alone, 1e3/b.TokS)
		wall = append(wall, 1e3*took)
		ratio = append(ratio, 100*(took*b.TokS-1))
		cpu = append(cpu, 100*((after.cpu-before.cpu)/n/b.CPU-1))
		outside = append(outside, 100*(a.tokens[len(a.tokens)-1].Sub(a.sent).Seconds()/n-busy)/busy)
	}
	return []row{
		newRow("one", "bench, a token", "ms", alone),
		newRow("one", "the same where a GPU picks no token ahead", "ms", single),
		newRow("one", "served, a token", "ms", wall),
		newRow("one", "served over bench, time of a token", "%", ratio).atMost(3),
		newRow("one", "served over bench, processor time of a token", "%", cpu).atMost(3),
		newRow("one", "time outside of the model's steps over that in them", "%", outside).atMost(3),
	}, nil
}

// sample are the server's counters.
type sample struct{ cpu, busy float64 }

func (s *server) sample() (out sample, err error) {
	out.cpu, err = s.metric("process_cpu_seconds_total")
	busy, err2 := s.metric("mla_step_seconds_total")
	out.busy = busy
	return out, errors.Join(err, err2)
}

// batch is many streams beside mlarun bench -batch, while all of them decode.
func (l *load) batch() (rows []row, err error) {
	s, err := l.serve(l.width, l.threads, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var alone, total, ratio, cpu []float64
	for range l.rounds {
		rate, used, depth, err := l.rate([]*server{s}, l.width)
		if err != nil {
			return nil, err
		}
		b, err := l.bench(l.width, depth)
		if err != nil {
			return nil, err
		}
		alone, total, ratio = append(alone, b.TokS), append(total, rate), append(ratio, rate/b.TokS)
		cpu = append(cpu, b.CPU/used)
	}
	return []row{
		newRow("batch", fmt.Sprintf("bench -batch %d, in all", l.width), "tok/s", alone),
		newRow("batch", fmt.Sprintf("%d streams, in all", l.width), "tok/s", total),
		newRow("batch", "streams over bench", "", ratio).atLeast(0.95),
		newRow("batch", "the same by processor time of a token", "", cpu).atLeast(0.95),
	}, nil
}

// rate is how many tokens per second some streams get while all of them decode, on servers
// in turn, from when the last one has begun until there are l.tokens for each; the
// processor time of a token in seconds; and how many tokens of context streams have in the
// mean when the last one begins.
func (l *load) rate(servers []*server, streams int) (perSecond, cpu float64, depth int, err error) {
	used := make(chan float64, 2)
	sample := func() {
		sum := 0.
		for _, s := range servers {
			now, err := s.sample()
			if err != nil {
				sum = math.NaN()
			}
			sum += now.cpu
		}
		used <- sum
	}
	prompts := make([][]int32, streams)
	for i := range prompts {
		prompts[i] = l.newPrompt(opening)
	}
	var mu sync.Mutex
	var from, to time.Time
	begun, before, ended := 0, 0, false
	counts := make([]int, streams)
	_, err = concurrently(streams, func(i int) (*answer, error) {
		first := true
		return servers[i%len(servers)].ask(prompts[i], l.context()-opening, func(now time.Time) bool {
			mu.Lock()
			defer mu.Unlock()
			if begun < streams {
				before++
			}
			switch {
			case first:
				first = false
				if begun++; begun == streams {
					from = now
					go sample()
				}
			case begun == streams && !ended:
				if counts[i]++; counts[i] == l.tokens {
					to, ended = now, true
					go sample()
				}
			}
			return !ended
		})
	})
	if err == nil && !ended {
		err = fmt.Errorf("at most %d tokens came while all of %d streams were decoding", slices.Max(counts), streams)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	a, b := <-used, <-used
	n := float64(streams * l.tokens)
	return n / to.Sub(from).Seconds(), math.Abs(b-a) / n, opening + before/streams, nil
}

const (
	// opening is how many tokens the prompts of streams have that decode.
	opening = 8
	// decoding is how many streams decode while others arrive.
	decoding = 8
)

// arrivals is how long a request waits for its first token that comes while others decode,
// and how long those wait between their tokens then.
func (l *load) arrivals() (rows []row, err error) {
	s, err := l.serve(decoding+4, l.threads, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var alone []float64
	for range l.rounds {
		a, err := s.ask(l.newPrompt(l.prompt), 2, nil)
		if err != nil {
			return nil, err
		}
		alone = append(alone, a.first())
	}
	var mu sync.Mutex
	stop := false
	steps := 0 // of the first stream
	ended := make(chan struct{})
	var others []*answer
	var failed error
	going := make(chan struct{}, decoding)
	prompts := make([][]int32, decoding)
	for i := range prompts {
		prompts[i] = l.newPrompt(opening)
	}
	go func() {
		defer close(ended)
		others, failed = concurrently(decoding, func(i int) (*answer, error) {
			n := 0
			return s.ask(prompts[i], l.context()-opening, func(time.Time) bool {
				mu.Lock()
				defer mu.Unlock()
				if n++; n == 2 {
					going <- struct{}{}
				}
				if i == 0 {
					steps++
				}
				return !stop
			})
		})
	}()
	short := func() error { // the streams have ended, before what arrives
		return errors.Join(failed, errors.New("the streams ended while others arrived: take more tokens (-n) or fewer rounds (-r)"))
	}
	for range decoding {
		select {
		case <-going:
		case <-ended:
			return nil, short()
		}
	}
	now := func() int {
		mu.Lock()
		defer mu.Unlock()
		return steps
	}
	wait := func(n int) error {
		for end := now() + n; now() < end; time.Sleep(time.Millisecond) {
			select {
			case <-ended:
				return short()
			default:
			}
		}
		return nil
	}
	quietFrom := time.Now()
	if err := wait(12); err != nil {
		return nil, err
	}
	from := time.Now()
	quiet := gap{quietFrom, from}
	rng := rand.New(rand.NewPCG(1, 2))
	var first, waited []float64
	for len(first) < 2*l.rounds {
		a, err := s.ask(l.newPrompt(l.prompt), 4, nil)
		if err != nil {
			return nil, err
		}
		took := a.first()
		first, waited = append(first, took), append(waited, took-a.Timings.PromptMS)
		if err := wait(4 + rng.IntN(16)); err != nil {
			return nil, err
		}
	}
	mu.Lock()
	stop = true
	mu.Unlock()
	if <-ended; failed != nil {
		return nil, failed
	}
	still := quiet.of(others)
	busy := gap{from, time.Now()}.of(others)
	whole := make([]float64, len(waited))
	for i := range waited {
		waited[i] /= median(still)
		whole[i] = first[i] / (2*median(still) + median(alone))
	}
	return []row{
		newRow("arrivals", "a step of 8 streams", "ms", still),
		newRow("arrivals", fmt.Sprintf("first token of a prompt of %d, alone", l.prompt), "ms", alone),
		newRow("arrivals", "the same while 8 decode", "ms", first),
		newRow("arrivals", "of that, before and after its prompt, in steps of the 8", "", waited).atMost(2),
		newRow("arrivals", "the whole of it over two steps of the 8 and its prompt alone", "", whole),
		newRow("arrivals", "between tokens of the 8, median", "ms", []float64{median(busy)}),
		newRow("arrivals", "99th percentile", "ms", []float64{quantile(busy, 0.99)}),
		newRow("arrivals", "99th percentile over median", "", []float64{quantile(busy, 0.99) / median(busy)}).atMost(2),
	}, nil
}

// gap is a stretch of time.
type gap struct{ from, to time.Time }

// of are the times between two tokens within the stretch, in milliseconds.
func (g gap) of(list []*answer) (out []float64) {
	for _, a := range list {
		for j := 1; j < len(a.tokens); j++ {
			if a.tokens[j-1].After(g.from) && a.tokens[j].Before(g.to) {
				out = append(out, 1e3*a.tokens[j].Sub(a.tokens[j-1]).Seconds())
			}
		}
	}
	return out
}

// workers is two servers with a processor each beside one.
func (l *load) workers() (rows []row, err error) {
	const streams = 4
	var servers []*server
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.close())
		}
	}()
	for _, cpu := range []string{"0", "1"} {
		s, err := l.serve(streams, 1, cpu)
		if err != nil {
			return nil, err
		}
		servers = append(servers, s)
	}
	var one, two, ratio, cpu []float64
	for range l.rounds {
		a, cpuA, _, err := l.rate(servers[:1], streams)
		if err != nil {
			return nil, err
		}
		b, cpuB, _, err := l.rate(servers, 2*streams)
		if err != nil {
			return nil, err
		}
		one, two, ratio, cpu = append(one, a), append(two, b), append(ratio, b/a), append(cpu, 2*cpuA/cpuB)
	}
	return []row{
		newRow("workers", "one, a processor", "tok/s", one),
		newRow("workers", "two, a processor each", "tok/s", two),
		newRow("workers", "two over one", "", ratio).atLeast(1.9),
		newRow("workers", "the same by processor time of a token", "", cpu).atLeast(1.9),
	}, nil
}
