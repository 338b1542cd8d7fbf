package sample

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// references are the distributions that parameters may give after a text, one for each that
// chance may decide, with how probable it is.
func references(p *Params, order []Step, logits []float32, text []int32, mu float64) (probs [][]float64, weights []float64) {
	list := make([]candidate, len(logits))
	for i, x := range logits {
		list[i] = candidate{int32(i), float64(x)}
	}
	var run func(list []candidate, order []Step, weight float64)
	run = func(list []candidate, order []Step, weight float64) {
		if len(order) > 0 {
			chance := float64(p.XTCProbability)
			if order[0] != StepXTC {
				chance = 0
			}
			if chance > 0 {
				run(referenceStep(order[0], p, list, text, true), order[1:], weight*chance)
			}
			if chance < 1 {
				run(referenceStep(order[0], p, list, text, false), order[1:], weight*(1-chance))
			}
			return
		}
		if p.Mirostat != 0 {
			list = referenceMirostat(p, list, mu)
		}
		if p.Temperature == 0 && p.DynatempRange == 0 {
			list = likeliest(list)[:1]
		}
		out := make([]float64, len(logits))
		for i, x := range softmax(list) {
			out[list[i].id] = x
		}
		probs, weights = append(probs, out), append(weights, weight)
	}
	if p.Mirostat != 0 {
		order = []Step{StepTemperature}
	}
	run(list, order, 1)
	return probs, weights
}

// distribution is what a sampler draws from next, and how surprising its draw is to mirostat.
func distribution(s *Sampler, logits []float32) []float64 {
	s.load(logits)
	if !s.narrow(s.draws) {
		return nil
	}
	switch {
	case s.p.Mirostat == 1:
		s.keepBest(s.zipf())
	case s.p.Mirostat == 2:
		s.keepSurprise()
	}
	out := make([]float64, len(logits))
	if s.p.Temperature == 0 && s.p.DynatempRange == 0 {
		out[s.best()] = 1
		return out
	}
	total := s.weigh()
	for i, id := range s.chosen {
		out[id] = float64(s.weights[i]) / float64(total)
	}
	return out
}

// variation is the total variation between distributions.
func variation(a, b []float64) (d float64) {
	for i := range a {
		d += math.Abs(a[i]-b[i]) / 2
	}
	return d
}

// each are parameters with one step alone that has an effect.
var each = map[string]func(*Params, *rand.Rand){
	"penalties": func(p *Params, r *rand.Rand) {
		p.RepeatPenalty, p.PresencePenalty, p.FrequencyPenalty, p.RepeatLastN = 1+r.Float32(), r.Float32(), r.Float32(), r.IntN(30)-1
		p.Order = []Step{StepTemperature, StepPenalties}
		p.Temperature = 0.5 + r.Float32()
	},
	"dry": func(p *Params, r *rand.Rand) {
		p.DRYMultiplier, p.DRYBase, p.DRYAllowedLength, p.DRYLastN = 0.1+r.Float32(), 1+r.Float32(), r.IntN(4), []int{-1, 5, 20, 1000}[r.IntN(4)]
		p.DRYBreakers = [][]string{nil, {"b"}, {"cd", "a"}, {"bab"}}[r.IntN(4)]
	},
	"top_n_sigma": func(p *Params, r *rand.Rand) { p.TopNSigma = 2 * r.Float32() },
	"top_k":       func(p *Params, r *rand.Rand) { p.TopK, p.MinKeep = 1+r.IntN(40), 2 },
	"typ_p":       func(p *Params, r *rand.Rand) { p.TypicalP = 0.01 + 0.98*r.Float32() },
	"top_p":       func(p *Params, r *rand.Rand) { p.TopP, p.MinKeep = 0.01+0.98*r.Float32(), 2+r.IntN(4) },
	"min_p":       func(p *Params, r *rand.Rand) { p.MinP, p.MinKeep = 0.01+0.9*r.Float32(), 2+r.IntN(4) },
	"xtc": func(p *Params, r *rand.Rand) {
		p.XTCProbability, p.XTCThreshold = []float32{1, 0.5, r.Float32()}[r.IntN(3)], 0.3*r.Float32()
	},
	"temperature": func(p *Params, r *rand.Rand) {
		p.Temperature, p.DynatempRange, p.DynatempExponent = 2*r.Float32(), 0.1+r.Float32(), 2*r.Float32()
	},
	"mirostat 1": func(p *Params, r *rand.Rand) {
		p.Mirostat, p.MirostatTau, p.MirostatEta, p.Temperature = 1, 1+4*r.Float32(), 0.5*r.Float32(), 0.5+r.Float32()
	},
	"mirostat 2": func(p *Params, r *rand.Rand) {
		p.Mirostat, p.MirostatTau, p.MirostatEta, p.Temperature = 2, 1+4*r.Float32(), 0.5*r.Float32(), 0.5+r.Float32()
	},
}

// names are those of each, in their order: draws are the same every time.
func names() []string { return slices.Sorted(maps.Keys(each)) }

// drawing is a setting of parameters with logits and a text.
type drawing struct {
	p      Params
	logits []float32
	text   []int32
}

func newDrawing(r *rand.Rand, most int) *drawing {
	d := &drawing{p: Off()}
	d.p.Temperature, d.p.Seed, d.p.Vocabulary = 1, r.Uint64(), letters(0)
	d.logits = make([]float32, 2+r.IntN(most))
	for i := range d.logits {
		d.logits[i] = float32(2 * r.NormFloat64())
		if i > 0 && r.IntN(8) == 0 {
			d.logits[i] = d.logits[i-1] // ties
		}
	}
	few := int32(1 + r.IntN(min(len(d.logits), 5)))
	for range r.IntN(60) { // of few tokens, with many repetitions
		d.text = append(d.text, r.Int32N(few))
	}
	return d
}

func (d *drawing) sampler(t *testing.T) *Sampler {
	t.Helper()
	s := mustNew(t, d.p)
	for _, id := range d.text {
		s.Accept(id)
	}
	return s
}

// order is that of the reference: the parameters' own.
func (d *drawing) order() []Step {
	if d.p.Order == nil {
		return DefaultOrder()
	}
	return d.p.Order
}

// near is how far distributions may be from the reference's: weights are integers of 2^-36 of
// the largest, and temperatures, penalties and probabilities are float32 after some steps, whose
// last bit is 2^-24 of logits up to 40.
const near = 1e-5

// compare wants one of the reference's distributions of a sampler.
func (d *drawing) compare(t *testing.T, what string, s *Sampler) {
	t.Helper()
	want, _ := references(&d.p, d.order(), d.logits, d.text, s.mu)
	got := distribution(s, d.logits)
	least := 1.
	for _, w := range want {
		least = min(least, variation(got, w))
	}
	if !(least < near) {
		t.Fatalf("%s: total variation %v of %+v\nlogits %v text %v\n%v; expected one of\n%v", what, least, d.p, d.logits, d.text, got, want)
	}
}

// TestChainSteps compares each step's distribution with that of the reference.
func TestChainSteps(t *testing.T) {
	for _, name := range names() {
		set := each[name]
		r := rand.New(rand.NewPCG(3, 4))
		for range 60 {
			d := newDrawing(r, 120)
			set(&d.p, r)
			s := d.sampler(t)
			if s.steps == nil && name != "penalties" {
				t.Fatalf("%s: not a chain: %+v", name, d.p)
			}
			if s.steps != nil {
				d.compare(t, name, s)
			}
		}
	}
}

// TestChainOrders does so with all steps together, in random orders, some of them twice.
func TestChainOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for range 1000 {
		d := newDrawing(r, 60)
		for _, name := range names() {
			set := each[name]
			if r.IntN(2) == 0 && !strings.HasPrefix(name, "mirostat") {
				set(&d.p, r)
			}
		}
		d.p.Order = DefaultOrder()
		if r.IntN(3) > 0 {
			r.Shuffle(len(d.p.Order), func(i, j int) { d.p.Order[i], d.p.Order[j] = d.p.Order[j], d.p.Order[i] })
			d.p.Order = append(d.p.Order[:r.IntN(len(d.p.Order))], StepTopP, StepXTC)
		}
		if s := d.sampler(t); s.steps != nil {
			d.compare(t, fmt.Sprint(d.p.Order), s)
			compared++
		}
	}
	if compared < 800 {
		t.Errorf("%d chains", compared)
	}
}

// TestChainDraws draws with every step, and compares counts with the reference's probabilities
// by Pearson's chi-squared, of tokens that are expected 5 times or more. The bound is exceeded with
// probability 1e-6 or so by a right sampler, and the seeds are fixed.
func TestChainDraws(t *testing.T) {
	const draws = 8000
	for _, name := range names() {
		set := each[name]
		if strings.HasPrefix(name, "mirostat") {
			continue // each draw has its own distribution
		}
		r := rand.New(rand.NewPCG(7, 8))
		for range 2 {
			d := newDrawing(r, 20)
			set(&d.p, r)
			probs, weights := references(&d.p, d.order(), d.logits, d.text, 0)
			s := d.sampler(t)
			counts := make([]float64, len(d.logits))
			for range draws {
				counts[s.Next(d.logits)]++
			}
			chi, freedom := 0., -1.
			for id, n := range counts {
				want := 0.
				for i := range probs {
					want += draws * weights[i] * probs[i][id]
				}
				if want < 1e-9 && n > 0 {
					t.Errorf("%s: token %d came %v times, never expected", name, id, n)
				}
				if want >= 5 {
					chi += (n - want) * (n - want) / want
					freedom++
				}
			}
			if bound := freedom + 5*math.Sqrt(2*freedom+1) + 10; chi > bound {
				t.Errorf("%s: chi-squared %.1f, at most %.1f; %+v, counts %v", name, chi, bound, d.p, counts)
			}
		}
	}
}

// TestMirostat follows whole texts: every token is drawn from the reference's distribution, whose mu
// learns from it; so do the ranks of the draws, which are uniform.
func TestMirostat(t *testing.T) {
	for _, version := range []int{1, 2} {
		r := rand.New(rand.NewPCG(9, uint64(version)))
		surprise := 0.
		const texts, length = 8, 100
		for range texts {
			d := newDrawing(r, 1)
			d.logits = make([]float32, 100)
			d.p.Mirostat, d.p.MirostatTau, d.p.MirostatEta = version, 2, 0.1
			s := d.sampler(t)
			mu := 2 * float64(d.p.MirostatTau)
			for range length {
				for i := range d.logits {
					d.logits[i] = float32(2.5 * r.NormFloat64())
				}
				probs, _ := references(&d.p, nil, d.logits, nil, mu)
				id := s.Next(d.logits)
				if probs[0][id] == 0 {
					t.Fatalf("mirostat %d: token %d, which the reference has dropped at mu %v", version, id, mu)
				}
				bits := -math.Log2(probs[0][id])
				mu -= float64(d.p.MirostatEta) * (bits - float64(d.p.MirostatTau))
				if math.Abs(mu-s.mu) > 1e-6 { // float64 but for weights of 2^-36
					t.Fatalf("mirostat %d: mu %v; expected %v", version, s.mu, mu)
				}
				surprise += bits
			}
		}
		if mean := surprise / texts / length; math.Abs(mean-2) > 0.2 {
			t.Errorf("mirostat %d: a mean surprise of %.3f bits; aimed at 2", version, mean)
		}
	}
}

// TestEnough: top-p is content with its probability, typical-p wants more.
func TestEnough(t *testing.T) {
	for name, set := range map[string]func(*Params){
		"top-p 1": func(p *Params) { p.TopP, p.Order = 0.5, []Step{StepTopP, StepTopK} },
		"typ-p 2": func(p *Params) { p.TypicalP = 0.5 },
	} {
		p := with(set)
		p.TopK = 3
		s := mustNew(t, p)
		s.load([]float32{2, 2, -inf})
		if s.narrow(0); fmt.Sprint(len(s.chosen)) != name[6:] {
			t.Errorf("%s tokens expected: %d", name, s.chosen)
		}
	}
}

// TestPlainOrders: an order that has the plain steps as they are anyhow is the fast path, which
// devices have too, and picks what it picked.
func TestPlainOrders(t *testing.T) {
	all := with(func(p *Params) {
		p.TopK, p.TopP, p.MinP, p.RepeatPenalty, p.Temperature, p.Seed = 20, 0.9, 0.02, 1.2, 0.8, 5
	})
	for _, c := range []struct {
		order string
		plain bool
		as    func(*Params) // is the same without an order
	}{
		{"edskypmxt", true, func(*Params) {}},
		{"ekpmt", true, func(*Params) {}},
		{"kt", true, func(p *Params) { p.RepeatPenalty, p.TopP, p.MinP = 1, 1, 0 }},
		{"e", true, func(p *Params) { p.TopK, p.TopP, p.MinP, p.Temperature = 0, 1, 0, 1 }},
		{"", true, func(p *Params) { *p = with(func(p *Params) { p.Seed = 5 }) }},
		{"ekptm", false, nil}, {"ekkpmt", false, nil}, {"kpmte", false, nil},
	} {
		p := all
		var err error
		if p.Order, err = ParseLetters(c.order); err != nil {
			t.Fatal(err)
		}
		s := mustNew(t, p)
		if plain := s.steps == nil; plain != c.plain || (s.Sampling() != nil) != plain {
			t.Errorf("%q: steps %v", c.order, s.steps)
		}
		if !c.plain {
			continue
		}
		same := all
		c.as(&same)
		u := mustNew(t, same)
		r := rand.New(rand.NewPCG(1, 1))
		for range 50 {
			logits := make([]float32, 100)
			for i := range logits {
				logits[i] = float32(3 * r.NormFloat64())
			}
			a, b := s.Next(logits), u.Next(logits)
			if a != b {
				t.Fatalf("%q: %d; expected %d", c.order, a, b)
			}
			s.Accept(a)
			u.Accept(b)
		}
	}
}

// TestChainWithoutEffect: a chain that does what the fast path does draws from the same
// distribution, to the weights' last bits.
func TestChainWithoutEffect(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		d := newDrawing(r, 100)
		d.p.TopK, d.p.TopP, d.p.MinP, d.p.Temperature = 1+r.IntN(50), 0.5+r.Float32()/2, r.Float32()/10, 0.5+r.Float32()
		fast := d.sampler(t)
		d.p.TopNSigma = 1e4
		slow := d.sampler(t)
		fast.load(d.logits)
		top := fast.logits[argmax(fast.logits)]
		fast.filter(top)
		want, total := make([]float64, len(d.logits)), 0.
		for _, id := range fast.chosen {
			want[id] = float64(weight((fast.logits[id] - top) * fast.invTemperature))
			total += want[id]
		}
		for i := range want {
			want[i] /= total
		}
		if v := variation(distribution(slow, d.logits), want); v > 1e-6 { // float32 against float64
			t.Fatalf("%+v: total variation %v", d.p, v)
		}
	}
}

// TestMinTokens: none of the ends comes too soon, unless nothing else can; then all is as without.
func TestMinTokens(t *testing.T) {
	logits := []float32{1, 5, 4, 3}
	for _, chain := range []bool{false, true} {
		p := Off()
		p.MinTokens, p.Ends = 2, []int32{1, 2, 2, 9, -1}
		if chain {
			p.TopNSigma = 100
		}
		s := mustNew(t, p)
		var got []int32
		for range 3 {
			if state := s.Sampling(); (state == nil) != (s.draws < 2 || chain) {
				t.Errorf("draw %d: a device would pick: %v", s.draws, state != nil)
			}
			got = append(got, s.Next(logits))
		}
		if !slices.Equal(got, []int32{3, 3, 1}) {
			t.Errorf("%v", got)
		}
		s.Reset()
		s.Allow([]uint32{0b0110})
		if id := s.Next(logits); id != 1 {
			t.Errorf("%d where only ends are allowed", id)
		}
	}
}

// TestChainHostile: no logits and parameters make a sampler pick what cannot come, or panic.
func TestChainHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	values := []float32{inf, -inf, float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, 0, 1, -1, 1e-30, 3e38, -3e38, 1e10}
	for range 1000 {
		d := newDrawing(r, 12)
		for _, name := range names() {
			set := each[name]
			if r.IntN(2) == 0 {
				set(&d.p, r)
			}
		}
		d.p.Temperature = []float32{0, minTemperature, 1, maxTemperature}[r.IntN(4)]
		d.p.RepeatPenalty = []float32{1e-38, 1, math.MaxFloat32}[r.IntN(3)]
		d.p.Order = slices.Repeat(DefaultOrder(), 1+r.IntN(7))
		s := d.sampler(t)
		for range 6 {
			possible := false
			for i := range d.logits {
				d.logits[i] = values[r.IntN(len(values))]
				possible = possible || d.logits[i] > -inf
			}
			id := s.Next(d.logits)
			if int(id) >= len(d.logits) || id < -1 || id < 0 && possible && d.p.RepeatPenalty == 1 || id >= 0 && !(d.logits[id] > -inf) {
				t.Fatalf("%+v: token %d of %v", d.p, id, d.logits)
			}
			s.Accept(id)
		}
	}
}
