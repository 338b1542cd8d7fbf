package tune

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
)

// grid is a knob with the usual shapes; it changes the stage of its name.
func grid(name string) Knob {
	return Knob{Name: name, Stages: []string{name}, Values: unrolled(shapeValues(spec.Shape{RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 4, Unroll: 4}))}
}

// model is a Measurer whose times grow with the distance from the best values.
type model struct {
	knobs []Knob
	best  []Value // by knob
	step  float64 // gain of one step
	noise float64 // standard deviation, relative
	rand  *rand.Rand
	fails func(choice []int) error
	asked [][]int
}

func newModel(knobs []Knob, step, noise float64, best ...spec.Shape) *model {
	m := &model{knobs: knobs, step: step, noise: noise, rand: rand.New(rand.NewPCG(1, 2))}
	for _, b := range best {
		m.best = append(m.best, Value{Shape: b})
	}
	return m
}

// distance is the number of steps between two values.
func distance(v, w Value) (sum float64) {
	a, b := v.numbers(), w.numbers()
	for i := range a {
		sum += math.Abs(math.Log2(float64(a[i]) / float64(b[i])))
	}
	return sum
}

func (m *model) Measure(choice []int) (map[string]float64, error) {
	m.asked = append(m.asked, slices.Clone(choice))
	if m.fails != nil {
		if err := m.fails(choice); err != nil {
			return nil, err
		}
	}
	times := map[string]float64{}
	for i, k := range m.knobs {
		d := distance(k.Values[choice[i]], m.best[i])
		for _, stage := range k.Stages {
			times[stage] += 1e-6 * (1 + m.step*d) * (1 + m.noise*m.rand.NormFloat64())
		}
	}
	return times, nil
}

var options = Options{Beam: 3, Least: 0.02, Repeats: 4}

// TestSearch: the best shapes are found, several kernels at a time, with less than
// the whole grid measured.
func TestSearch(t *testing.T) {
	knobs := []Knob{grid("a"), grid("b"), grid("c")}
	best := []spec.Shape{{RowsPerSimdgroup: 8, Simdgroups: 16, SplitK: 1, Unroll: 4}, {RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 4, Unroll: 4}, {RowsPerSimdgroup: 4, Simdgroups: 8, SplitK: 4, Unroll: 2}}
	m := newModel(knobs, 0.2, 0.005, best...)
	found, err := Search(knobs, m, options)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range found {
		if c.To.Shape != best[i] || c.From != knobs[i].Values[0] || c.Tried < 5 {
			t.Errorf("%s: %s of %d; expected %v", c.Knob.Name, c.To, c.Tried, best[i])
		}
		gain := 1 - 1/(1+0.2*distance(c.From, m.best[i]))
		if c.To == c.From && c.Before != 0 || c.To != c.From && math.Abs(c.Gain()-gain) > 0.02 { // the noise of the mean of four
			t.Errorf("%s: %g s before, %g after; expected a gain of %g", c.Knob.Name, c.Before, c.After, gain)
		}
	}
	if len(m.asked) > len(knobs[0].Values)+3*options.Repeats {
		t.Errorf("%d measurements for grids of %d", len(m.asked), len(knobs[0].Values))
	}
}

// TestSearchNoise: gains within the noise, or below the least, change nothing,
// whatever the noise says.
func TestSearchNoise(t *testing.T) {
	for _, tt := range []struct{ step, noise float64 }{{0, 0.05}, {0.003, 0}, {0.001, 0.02}} {
		for seed := range uint64(20) {
			knobs := []Knob{grid("a"), grid("b")}
			far := spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 8, SplitK: 8, Unroll: 4} // three steps from the start
			m := newModel(knobs, tt.step, tt.noise, far, far)
			m.rand = rand.New(rand.NewPCG(seed, 3))
			found, err := Search(knobs, m, options)
			if err != nil {
				t.Fatal(err)
			}
			// A first one, the start, two rounds of neighbours as the noise of four is not known well, a comparison.
			if most := 1 + 3*options.Repeats + 2*11; len(m.asked) > most {
				t.Errorf("%+v, seed %d: %d measurements; expected at most %d", tt, seed, len(m.asked), most)
			}
			for _, c := range found {
				if c.To != c.From {
					t.Errorf("%+v, seed %d: %s instead of %s, %g s instead of %g", tt, seed, c.To, c.From, c.After, c.Before)
				}
			}
		}
	}
}

// TestSearchBeam: the way to the best value may begin at the second best neighbour.
func TestSearchBeam(t *testing.T) {
	knobs := []Knob{grid("a")} // from 2, 4, 4
	times := map[[4]int]float64{{4, 4, 4, 4}: 0.9, {2, 8, 8, 4}: 0.95, {2, 16, 16, 4}: 0.5}
	m := measurer(func(choice []int) (map[string]float64, error) {
		if time, ok := times[[4]int(knobs[0].Values[choice[0]].numbers())]; ok {
			return map[string]float64{"a": time}, nil
		}
		return map[string]float64{"a": 1}, nil
	})
	for _, tt := range []struct {
		beam int
		want float64
	}{{1, 0.9}, {3, 0.5}} {
		o := options
		o.Beam = tt.beam
		found, err := Search(knobs, m, o)
		if err != nil || found[0].After != tt.want {
			t.Errorf("beam %d: %+v, %v", tt.beam, found, err)
		}
	}
}

// TestSearchSharedStage: knobs that change one stage are never tried together, and
// the second is compared on top of the first.
func TestSearchSharedStage(t *testing.T) {
	a, b := grid("a"), grid("b")
	a.Stages = []string{"a", "b"}
	best := spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 4, Unroll: 4}
	knobs := []Knob{a, b}
	m := newModel(knobs, 0.3, 0.001, best, best)
	found, err := Search(knobs, m, options)
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	for _, choice := range m.asked {
		if choice[0] > 0 && choice[1] > 0 {
			both++
		}
	}
	if both != options.Repeats || found[0].To.Shape != best || found[1].To.Shape != best {
		t.Errorf("%d measurements of both; found %s and %s", both, found[0].To, found[1].To)
	}
}

// TestSearchRefusals: a value that the device refuses is passed over, those tried
// beside it are not; if the first values fail, so does the search.
func TestSearchRefusals(t *testing.T) {
	knobs := []Knob{grid("a"), grid("b")}
	best := spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 4, Unroll: 4}
	m := newModel(knobs, 0.3, 0.001, best, best)
	refused := errors.New("too many registers")
	m.fails = func(choice []int) error {
		if knobs[0].Values[choice[0]].Shape == best {
			return refused
		}
		return nil
	}
	var log strings.Builder
	o := options
	o.Log = func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }
	found, err := Search(knobs, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if found[0].To.Shape == best || found[1].To.Shape != best || !strings.Contains(log.String(), "a: rows 4, simdgroups 4, split_k 4, unroll 4: too many registers") {
		t.Errorf("found %s and %s\n%s", found[0].To, found[1].To, &log)
	}
	m.fails = func([]int) error { return refused }
	if _, err := Search(knobs, m, options); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	partial := measurer(func([]int) (map[string]float64, error) { return map[string]float64{"a": 1}, nil })
	if _, err := Search(knobs, partial, options); err == nil || !strings.Contains(err.Error(), "no time for the stage b") {
		t.Errorf("error %v", err)
	}
}

type measurer func([]int) (map[string]float64, error)

func (m measurer) Measure(choice []int) (map[string]float64, error) { return m(choice) }

// TestSearchStop checks that the best values found so far are still compared when the budget is spent.
func TestSearchStop(t *testing.T) {
	knobs := []Knob{grid("a")}
	m := newModel(knobs, 0.5, 0, spec.Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 4, Unroll: 4})
	o := options
	o.Stop = func() bool { return len(m.asked) > 1+o.Repeats+7 }
	found, err := Search(knobs, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if c := found[0]; c.Tried != 9 || c.Gain() <= 0 { // the first and eight more
		t.Errorf("%+v", c)
	}
	o.Stop = func() bool { return true }
	if found, err = Search(knobs, m, o); err != nil || found[0].To != found[0].From || found[0].Tried != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestNear: the neighbours of a shape.
func TestNear(t *testing.T) {
	at := Value{Shape: spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 2, Unroll: 4}}
	var got []string
	for _, v := range unrolled(shapeValues(spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 2, Unroll: 4})) {
		if v.near(at) != at.near(v) {
			t.Errorf("%s is near on one side only", v)
		}
		if v.near(at) {
			got = append(got, fmt.Sprint(v.numbers()))
		}
	}
	slices.Sort(got)
	want := []string{"[2 4 2 4]", "[4 2 1 4]", "[4 2 2 4]", "[4 4 1 4]", "[4 4 2 2]", "[4 4 2 8]", "[4 4 4 4]", "[4 8 2 4]", "[4 8 4 4]", "[8 4 2 4]"}
	if !slices.Equal(got, want) {
		t.Errorf("%v; expected %v", got, want)
	}
}
