package describe_test

import (
	"math"
	"path/filepath"
	"testing"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/spec"
)

// models are three models at Q4_0 with a Q6_K head. The bytes were counted by hand from the real shapes, the
// dispatches by kind of layer. There may be at most 8 dispatches per dense layer, 9 per MoE layer, and 4 more
// per token.
var models = []struct {
	spec             string
	dense, moe       int // layers
	weightGB         float64
	kvBytesPerRow    int64
	denseMax, moeMax int
}{
	{"youtu2b", 32, 0, 1.17, 36864, 8, 9},
	{"deepseekv2lite", 1, 26, 1.45, 31104, 8, 9},
	{"glm47flash", 1, 46, 2.12, 54144, 8, 9},
}

func TestRealModels(t *testing.T) {
	for _, m := range models {
		s, err := spec.Load(filepath.Join("..", "..", "specs", m.spec+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := gen.Compile(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := describe.Must(t, b, profile(t, b.Name, s, "q4_0"), 0)
		if limit := m.dense*m.denseMax + m.moe*m.moeMax + 4; r.DispatchesPerToken > limit || r.DispatchesPerToken != len(r.Dispatches) {
			t.Errorf("%s: %d dispatches (%d listed), at most %d are allowed", m.spec, r.DispatchesPerToken, len(r.Dispatches), limit)
		}
		// The counts given for these models are rounded to 10 MB.
		if gb := float64(r.WeightBytesPerToken) / 1e9; math.Abs(gb-m.weightGB) > 0.01 {
			t.Errorf("%s: %.3f GB of weights per token, want %.2f", m.spec, gb, m.weightGB)
		}
		if r.KVBytesPerContextToken != m.kvBytesPerRow {
			t.Errorf("%s: %d cache bytes per context token, want %d", m.spec, r.KVBytesPerContextToken, m.kvBytesPerRow)
		}
		predictions(t, r)
		registers(t, r)
		for _, d := range r.Dispatches {
			if d.Variant == "" || d.Groups <= 0 || d.BytesWritten == 0 {
				t.Errorf("%s: step %d: %+v", m.spec, d.Step, d)
			}
		}
	}
}

func profile(t *testing.T, name string, s *spec.Spec, want string) int {
	t.Helper()
	for i, q := range s.Quants {
		if q.Name == want {
			return i
		}
	}
	t.Fatalf("%s has no profile %s", name, want)
	return 0
}
