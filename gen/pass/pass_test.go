package pass

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/gen/interp"
	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/tools/tests/deep"
)

var tokens = []int{3, 17, 3, 40, 8, 21, 5}

// widths of the programs that are translated: of a row, of batches, and of a prompt.
var widths = []int{1, 2, 3, 8, 16, 24}

// mixed lists replays of up to width rows: some tokens of one session, then some of
// several sessions side by side.
func mixed(width int) [][]interp.Row {
	var all [][]interp.Row
	for i := 0; i < len(tokens); i += width {
		var rows []interp.Row
		for _, tok := range tokens[i:min(i+width, len(tokens))] {
			rows = append(rows, interp.Row{Token: tok})
		}
		all = append(all, rows)
	}
	for round := range 3 {
		var rows []interp.Row
		for i := range width {
			rows = append(rows, interp.Row{Token: (5*i + 7*round) % 48, Session: i % 3})
		}
		all = append(all, rows)
	}
	return all
}

// alone runs the rows of replays one by one.
func alone(t *testing.T, p *ir.Program, w interp.Weights, replays [][]interp.Row) [][]float64 {
	t.Helper()
	var single [][]interp.Row
	for _, rows := range replays {
		for _, r := range rows {
			single = append(single, []interp.Row{r})
		}
	}
	return replayed(t, p, w, single)
}

// replayed runs replays and lists the logits of all their rows.
func replayed(t *testing.T, p *ir.Program, w interp.Weights, replays [][]interp.Row) [][]float64 {
	t.Helper()
	m := interp.New(p, w)
	var all [][]float64
	for _, rows := range replays {
		l, err := m.Rows(begun(p, rows))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l...)
	}
	return all
}

// begun gives rows a hidden state of the model, which their token names, if the program begins with one.
func begun(p *ir.Program, rows []interp.Row) []interp.Row {
	if p.Input == nil {
		return rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		r := rand.New(rand.NewPCG(uint64(rows[i].Token), 0))
		rows[i].Input = make([]float64, p.Input.Len)
		for j := range rows[i].Input {
			rows[i].Input[j] = r.NormFloat64()
		}
	}
	return rows
}

// logits interprets p over the test tokens.
func logits(t *testing.T, p *ir.Program, w interp.Weights) [][]float64 {
	t.Helper()
	m := interp.New(p, w)
	var all [][]float64
	for _, tok := range tokens {
		l, err := m.Step(tok)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// near fails where two runs differ. Both interpret in float64, so only the
// order of sums differs: some 1e-13 of logits near 1, times the depth.
func near(a, b [][]float64) error {
	const tolerance = 1e-9
	for i := range a {
		for j := range a[i] {
			if !(math.Abs(a[i][j]-b[i][j]) <= tolerance) {
				return fmt.Errorf("position %d, logit %d: %g, want %g", i, j, b[i][j], a[i][j])
			}
		}
	}
	return nil
}

// TestTranslation interprets random small models after every pass, at all widths: rows
// in one batch give what the unfused program gives row by row.
func TestTranslation(t *testing.T) {
	models := uint64(40)
	if !deep.On {
		models = 8 // each width twice
	}
	for seed, s := range spectest.Varied(models) {
		w := &spectest.Weights{Spec: s}
		for _, width := range widths {
			if width > 1 && (seed+width)%4 > 0 { // one width in four, each for ten seeds
				continue
			}
			translate(t, seed, s, w, width)
		}
	}
}

// translate interprets a model after every pass: rows in one batch give what the unfused program gives row by row.
func translate(t *testing.T, seed int, s *spec.Spec, w interp.Weights, width int) {
	t.Helper()
	replays := mixed(width)
	want := alone(t, lower.Lower(s, 1), w, replays)
	p := lower.Lower(s, width)
	err := Compile(p, Options{Observe: func(_ string, p *ir.Program) error {
		return near(want, replayed(t, p, w, replays))
	}})
	if err != nil {
		t.Errorf("seed %d, %d rows: %v\n%s", seed, width, err, p)
	}
}

// TestDisable switches each fusion off, and all together.
func TestDisable(t *testing.T) {
	var all []string
	for _, ps := range Pipeline {
		if !ps.Required {
			all = append(all, ps.Name)
		}
	}
	sets := [][]string{all}
	for _, name := range all {
		sets = append(sets, []string{name})
	}
	for seed, s := range spectest.Varied(8) {
		w := &spectest.Weights{Spec: s}
		want := logits(t, lower.Lower(s, 1), w)
		for _, off := range sets {
			p := lower.Lower(s, 1)
			if err := Compile(p, Options{Disable: off}); err != nil {
				t.Fatalf("seed %d without %v: %v", seed, off, err)
			}
			if err := near(want, logits(t, p, w)); err != nil {
				t.Errorf("seed %d without %v: %v", seed, off, err)
			}
			for _, launch := range p.Launches {
				for _, part := range launch.Parts {
					if !ir.Composable(part) {
						t.Errorf("seed %d without %v: no kernel for %s (%s)", seed, off, launch.Name(), part.Signature())
					}
				}
			}
		}
	}
}

// TestOrder holds the reasons for the order of the passes.
func TestOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, ps := range Pipeline {
		for _, r := range ps.After {
			if !seen[r.Pass] {
				t.Errorf("%s runs before %s: %s", ps.Name, r.Pass, r.Why)
			}
			if r.Why == "" {
				t.Errorf("%s after %s has no reason", ps.Name, r.Pass)
			}
		}
		seen[ps.Name] = true
	}
}

func TestOptions(t *testing.T) {
	p := lower.Lower(spectest.Random(1), 1)
	for _, o := range []Options{{Disable: []string{"nothing"}}, {Disable: []string{"absorb"}}, {Until: "nothing"}} {
		if err := Compile(p, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestDispatches holds the limits on dispatches per layer.
func TestDispatches(t *testing.T) {
	for seed := uint64(0); seed < 40; seed++ {
		p := lower.Lower(spectest.Random(seed), 1)
		if err := Compile(p, Options{}); err != nil {
			t.Fatal(err)
		}
		count := map[int]int{}
		for _, s := range p.Launches {
			count[s.Layer]++
		}
		for layer, n := range count {
			limit := 8
			switch {
			case layer < 0:
				limit = 4
			case p.Spec.MoE != nil && layer >= p.Spec.MoE.FirstKDenseReplace:
				limit = 9
			}
			if n > limit {
				t.Errorf("seed %d: layer %d takes %d dispatches, at most %d are allowed\n%s", seed, layer, n, limit, p)
			}
		}
	}
}
