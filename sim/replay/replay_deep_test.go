//go:build deep

package replay_test

import (
	"math"
	"path/filepath"
	"testing"

	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/synth"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
)

// TestVariants runs every kernel function of the small bundles, on files of all
// profiles with random weights, and compares the logits with those of the CPU
// device's Go references. With all checks TestReference runs the same bundles, and gen/msl the
// same functions.
func TestVariants(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Fast)
	for _, name := range small {
		t.Run(name, func(t *testing.T) {
			s, err := spec.Load(root + "specs/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			used := map[string]int{}
			for _, q := range s.Quants {
				file := filepath.Join(t.TempDir(), "model.gguf")
				if err := synth.Write(t.Context(), s, q.Name, file, 1); err != nil {
					t.Fatal(err)
				}
				compareWithReference(t, d, bindFile(t, file, "f32"), used)
			}
			b := bundle(t, name)
			for _, d := range b.Decode().Dispatches { // the sampler's kernels have tests of their own in gen/msl
				for _, v := range b.Kernels[d.Kernel].Variants {
					if used[v.Func] == 0 {
						t.Errorf("%s: no profile runs it", v.Func)
					}
				}
			}
		})
	}
}

// small are the bundles whose models are quick to run.
var small = []string{"yoututiny", "youtumini", "glm47tiny", "glm47mini", "dsv2litemini", "tinyglm", "tinychat"}

func compareWithReference(t *testing.T, d *replay.Device, m *device.Model, used map[string]int) {
	t.Helper()
	for _, kv := range plan.CacheTypes(m.Bundle.Model.KVLoraRank, m.Bundle.Model.QKRopeHeadDim) {
		allowed := tolerance[kv]
		if kv == quant.Q8_0 {
			allowed = 0.2 // a number in the middle between two steps of 1/127 may go either way
		}
		cfg := device.Config{Context: 4, KV: kv, Threads: 1}
		r := record(t, d, m, cfg)
		host, err := device.LoadSingle(cpu.New(), m, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for pos, token := range []int32{3, 17, 1} {
			want := step(t, host, pos, token)
			if diff := difference(step(t, r, pos, token), want); !(diff <= allowed) {
				t.Errorf("%s cache, position %d: logits differ by %g", kv, pos, diff)
			}
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		for f, n := range r.Used {
			used[f] += n
		}
	}
}

// difference is the largest; NaN if there is one.
func difference(got, want []float32) float64 {
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
	}
	return worst
}
