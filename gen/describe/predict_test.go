package describe_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"mla/gen/describe"
)

// credible are tok/s that a review of other engines on Apple GPUs calls credible for
// GLM-4.7-Flash at Q4_0, rounded.
var credible = map[string]describe.Range{
	"M3 Pro":   {Low: 29, High: 42},
	"M4 Max":   {Low: 77, High: 120},
	"M3 Ultra": {Low: 85, High: 140},
}

// predictions checks the predictions of one of the models, at Q4_0 and depth 0.
func predictions(t *testing.T, r *describe.Report) {
	t.Helper()
	var row []string // of docs/mac.md
	for _, p := range r.Predictions {
		if want, ok := credible[p.Device]; ok && r.Bundle == "glm47flash" {
			if got := p.TokPerSecond; math.Round(got.Low) < want.Low || math.Round(got.High) > want.High {
				t.Errorf("%s on %s: %v tok/s; credible are %v", r.Bundle, p.Device, got, want)
			}
		}
		// The speed, made of the parts that are printed beside it: the longer of bytes and operations
		// at best, both at worst.
		rest := p.DispatchesUs + p.CommandBufUs
		slow, fast := 1e6/(p.WeightsUs.High+p.CacheUs.High+p.FlopsUs.High+rest), 1e6/(max(p.WeightsUs.Low+p.CacheUs.Low, p.FlopsUs.Low)+rest)
		if got := p.TokPerSecond; math.Abs(got.Low-slow) > 1e-9*slow || math.Abs(got.High-fast) > 1e-9*fast || slow >= fast || fast >= p.CeilingTokSec*p.Share.High {
			t.Errorf("%s on %s: %v tok/s, want %.0f-%.0f, below %.0f", r.Bundle, p.Device, got, slow, fast, p.CeilingTokSec*p.Share.High)
		}
		if p.PromptRows != 512 || p.Prompt.Low <= 2*p.TokPerSecond.Low || p.Prompt.High <= p.Prompt.Low {
			t.Errorf("%s on %s: prompts of %v tok/s in pieces of %d", r.Bundle, p.Device, p.Prompt, p.PromptRows)
		}
		if p.ShareSource == "" || p.Tier == "" || p.DispatchesUs <= 0 {
			t.Errorf("%s on %s: %+v", r.Bundle, p.Device, p)
		}
		if slices.Contains([]string{"M3 Pro", "M4 Pro", "M4 Max", "M3 Ultra"}, p.Device) {
			row = append(row, strings.ReplaceAll(p.TokPerSecond.String(), "-", "–"))
		}
	}
	// 17 GB of weights and a cache are more than the GPU of a Mac with 24 GB gets by itself.
	if m := r.Memory; r.Bundle == "glm47flash" && (m.WeightBytes < 16.9e9 || m.WeightBytes > 17.2e9 || m.LeastMac != 32 || m.LeastWithLimit != 24) {
		t.Errorf("%s takes %+v", r.Bundle, m)
	}
	page, err := os.ReadFile("../../docs/mac.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "| " + strings.Join(row, " | ") + " |"; !strings.Contains(string(page), want) {
		t.Errorf("%s: the table of docs/mac.md does not have %s", r.Bundle, want)
	}
	var text bytes.Buffer
	if err := r.Table(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not measured on Apple hardware", r.Predictions[0].ShareSource, fmt.Sprint(r.Predictions[0].TokPerSecond)} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s: the report does not say %q", r.Bundle, want)
		}
	}
}

// TestShares: models with experts and larger chips reach less of their bandwidth.
func TestShares(t *testing.T) {
	dense, moe := describe.Shares()
	for _, shares := range [][]describe.Range{dense, moe} {
		for i, s := range shares {
			if s.Low <= 0 || s.Low >= s.High || s.High >= 1 {
				t.Errorf("a share of %v", s)
			}
			if i > 0 && (s.Low >= shares[i-1].Low || s.High > shares[i-1].High) {
				t.Errorf("%v on a larger chip after %v", s, shares[i-1])
			}
		}
	}
	for i := range dense {
		if moe[i].Low >= dense[i].Low || moe[i].High > dense[i].High {
			t.Errorf("%v with experts, %v without", moe[i], dense[i])
		}
	}
}
