package describe_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// anchor is a speed that others have published.
type anchor struct {
	spec, quant, chip, what, engine string
	depth                           int
	tokS, slower                    float64
}

// anchors reads testdata/anchors.tsv.
func anchors(t *testing.T) (list []anchor) {
	t.Helper()
	data, err := os.ReadFile("testdata/anchors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || f[0] == "spec" {
			continue
		}
		depth, err1 := strconv.Atoi(f[3])
		speed, err2 := strconv.ParseFloat(f[5], 64)
		slower, err3 := strconv.ParseFloat(f[6], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(line)
		}
		list = append(list, anchor{f[0], f[1], f[2], f[4], f[7], depth, speed, slower})
	}
	return list
}

// TestAnchors checks that the predicted ranges contain the speeds of other engines, at depth and for prompts
// too. No engine may be faster than a range, and none slower by more than the table allows for it.
func TestAnchors(t *testing.T) {
	bundles := map[string]*plan.Bundle{}
	for _, a := range anchors(t) {
		s, err := spec.Load(filepath.Join("..", "..", "specs", a.spec+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if bundles[a.spec] == nil {
			if bundles[a.spec], err = gen.Compile(s.WithActivations(plan.ActNames[plan.ElemF16]), nil); err != nil {
				t.Fatal(err)
			}
		}
		b := bundles[a.spec]
		r := describe.Must(t, b, profile(t, b.Name, s, a.quant), a.depth)
		p := r.Predictions[slices.IndexFunc(r.Predictions, func(p describe.Prediction) bool { return p.Device == a.chip })]
		got := p.TokPerSecond
		if a.what == "prompt" {
			got = p.Prompt
		}
		t.Logf("%s %s %s depth %d %s: %v, %s %g", a.spec, a.quant, a.chip, a.depth, a.what, got, a.engine, a.tokS)
		if a.tokS > got.High || a.tokS*a.slower < got.Low {
			t.Errorf("%s %s on %s at depth %d: %s of %v tok/s; %s has %g", a.spec, a.quant, a.chip, a.depth, a.what, got, a.engine, a.tokS)
		}
	}
}
