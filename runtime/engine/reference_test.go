package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/quant"
	"mla/runtime/system/npy"
	"mla/runtime/text/sample"
)

const references = "../../testdata/reference"

// caches are the cache types with the greatest difference from the reference
// logits that they may cause. The reference was computed in another order of
// float32 operations: a few units in the last place of sums over up to a few
// hundred terms, through up to six layers. Rounding cache rows to half precision
// (2^-11) gives 0.004 to 0.01 on these files. Q8_0 rounds to 2^-8 of the largest of 32
// numbers: 0.1 to 0.2, and where routers then choose other experts for a token, as they do
// for some in files with random weights, up to 1.4.
var caches = []struct {
	kv        quant.Type
	tolerance float64
	rerouted  float64 // share of tokens that may have other experts, and any logits
}{{quant.F32, 1e-3, 0}, {quant.F16, 0.05, 0}, {quant.Q8_0, 0.25, 0.35}}

// reference is the expected result of a file.
type reference struct {
	prompt, greedy []int32
	logits         []float32 // [len(prompt)][vocab]
	vocab          int
}

// TestReference checks the logits and tokens of every reference file and of the models that ship.
func TestReference(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(references, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference files in %s: %v", references, err)
	}
	files = append(files, filepath.Join(references, "..", "tinyglm.gguf"), filepath.Join(references, "..", "tinychat.gguf"))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ref := readReference(t, strings.TrimSuffix(file, ".gguf"))
			e := open(t, file)
			for _, c := range caches {
				if !slices.Contains(e.Bundle().Model.CacheTypes(), c.kv) {
					continue
				}
				s := newSession(t, e, device.Config{Context: len(ref.prompt) + len(ref.greedy), KV: c.kv})
				rerouted := 0.0
				if e.Bundle().Model.MoE.NRoutedExperts > 0 {
					rerouted = c.rerouted
				}
				compareLogits(t, s, ref, c.kv, c.tolerance, int(rerouted*float64(len(ref.prompt))))
				if rerouted == 0 {
					compareGreedy(t, s, ref, c.kv, c.tolerance)
				}
			}
		})
	}
}

// TestReplayIsDeterministic checks that another number of threads gives the same bits, and so does a rewound
// session.
func TestReplayIsDeterministic(t *testing.T) {
	file := filepath.Join(references, "glm47-mini-Q4_K_M")
	ref, e := readReference(t, file), open(t, file+".gguf")
	var want []float32
	for _, threads := range []int{1, 2, 5} {
		s := newSession(t, e, device.Config{Context: len(ref.prompt), KV: quant.F16, Threads: threads})
		detour := slices.Concat(ref.prompt[:5], ref.greedy[:5])
		for _, tokens := range [][]int32{ref.prompt, detour, ref.prompt} {
			if err := s.Sync(context.Background(), tokens, nil); err != nil {
				t.Fatal(err)
			}
			if len(tokens) != len(ref.prompt) {
				continue
			}
			if want == nil {
				want = slices.Clone(s.Logits())
			}
			if !slices.Equal(s.Logits(), want) {
				t.Errorf("%d threads: logits differ from those of the first run", threads)
			}
		}
	}
}

func open(t *testing.T, file string) *engine.Engine {
	t.Helper()
	e, err := opening.On(file, generated.Bundles(), "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// newSession returns a session that runs every token and shares none.
func newSession(t *testing.T, e *engine.Engine, cfg device.Config) *engine.Session {
	t.Helper()
	s, err := load(t, e, cfg).NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, e *engine.Engine, cfg device.Config) *engine.Model {
	t.Helper()
	m, err := e.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// compareLogits runs the prompt and compares the logits. Where the reference's two best tokens differ by more
// than both errors, the best tokens must be the same. A share of tokens, rerouted, may have other logits.
func compareLogits(t *testing.T, s *engine.Session, ref *reference, kv quant.Type, tolerance float64, rerouted int) {
	worst := 0.0
	for pos, token := range ref.prompt {
		if err := s.Append(token); err != nil {
			t.Fatal(err)
		}
		got, want := s.Logits(), ref.logits[pos*ref.vocab:(pos+1)*ref.vocab]
		if len(got) != len(want) {
			t.Fatalf("%s cache: %d logits; want %d", kv, len(got), len(want))
		}
		off := 0.0
		for i := range got {
			off = max(off, math.Abs(float64(got[i])-float64(want[i]))) // NaN if one is
		}
		if off > tolerance && rerouted > 0 {
			rerouted--
			continue
		}
		worst = max(worst, off)
		if best, margin := top(want); margin > 2*tolerance {
			if mine, _ := top(got); mine != best {
				t.Errorf("%s cache, position %d: best token %d; want %d (ahead by %g)", kv, pos, mine, best, margin)
			}
		}
	}
	t.Logf("%s cache: logits within %.2g, %d more tokens may be rerouted", kv, worst, rerouted)
	if !(worst <= tolerance) {
		t.Errorf("%s cache: logits differ by %g; at most %g is allowed", kv, worst, tolerance)
	}
}

// compareGreedy continues the prompt up to the first near-tie.
func compareGreedy(t *testing.T, s *engine.Session, ref *reference, kv quant.Type, tolerance float64) {
	sampler, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	tied := false
	res, err := s.Generate(context.Background(), engine.Request{Prompt: ref.prompt, Max: len(ref.greedy), Sampler: sampler}, func(int32) bool {
		_, margin := top(s.Logits()) // the logits by which the token was picked
		tied = margin <= 2*tolerance
		return !tied
	})
	if err != nil {
		t.Fatal(err)
	}
	got := res.Tokens
	if tied {
		got = got[:len(got)-1]
	}
	if want := ref.greedy[:len(got)]; !slices.Equal(got, want) {
		t.Errorf("%s cache: greedy tokens %d; want %d", kv, got, want)
	}
}

// top returns the index of the largest value, and its distance to the second largest.
func top(x []float32) (best int, margin float64) {
	second := math.Inf(-1)
	for i, v := range x {
		switch {
		case i == 0:
		case v > x[best]:
			best, second = i, float64(x[best])
		default:
			second = max(second, float64(v))
		}
	}
	return best, float64(x[best]) - second
}

func readReference(t *testing.T, stem string) *reference {
	t.Helper()
	file, err := os.Open(stem + ".logits.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ref := &reference{}
	var rows int
	if ref.logits, rows, ref.vocab, err = npy.Read(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(stem + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, list, _ := strings.Cut(line, " ")
		ids, err := ids(list)
		if err != nil {
			t.Fatalf("%s.tokens: %v", stem, err)
		}
		switch name {
		case "prompt":
			ref.prompt = ids
		case "greedy":
			ref.greedy = ids
		}
	}
	if rows != len(ref.prompt) || rows == 0 || len(ref.greedy) == 0 {
		t.Fatalf("%s: %d rows of logits, %d prompt and %d greedy tokens", stem, rows, len(ref.prompt), len(ref.greedy))
	}
	return ref
}

func ids(list string) ([]int32, error) {
	var out []int32
	for _, word := range strings.Fields(list) {
		id, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("token %q: %w", word, err)
		}
		out = append(out, int32(id))
	}
	return out, nil
}
