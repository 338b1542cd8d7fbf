//go:build deep

package metal_test

import (
	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// init adds runs of all widths, on GPUs of both kinds, with both ways of replaying.
func init() {
	const file = "youtu-mini-Q4_0"
	m1 := []string{"METALSIM_GPU=m1"}
	pacedRuns = append(pacedRuns,
		pacedRun{"a batch, direct encoding", pacing{File: file, Width: 16, Units: 3, Replay: "encode"}, m1, false},
		pacedRun{"a batch, ICB", pacing{File: file, Width: 16, Units: 3, Replay: "icb"}, m1, false},
		pacedRun{"64 rows, ICB", pacing{File: file, Width: 64, Units: 3, Replay: "icb", Bundle: "wide"}, nil, true},
		pacedRun{"512 rows, ICB", pacing{File: file, Width: 512, Units: 1, Replay: "icb", Bundle: "wide"}, nil, true},
		pacedRun{"512 rows, direct encoding", pacing{File: file, Width: 512, Units: 1, Replay: "encode", Bundle: "wide"}, m1, true})
	hybridRuns = append(hybridRuns,
		hybridRun{"Kimi, ICB", pacing{File: kimiMini, Width: 24, Units: 3, Replay: "icb", Bundle: "hybrid", Sessions: 3}, nil, 1, 9},
		hybridRun{"Ling, batches, direct encoding", pacing{File: "../hybrid/bailingmoe3-mini-Q4_K_M", Width: 16, Units: 3, Replay: "encode", Bundle: "hybrid", Sessions: 3}, m1, 1, 8})
	pacedBundles["wide"] = func(*pacing) ([]*plan.Bundle, error) { return wide() }
}

// wide returns the bundle of youtu-mini with the wide sequences for prompts that large models have, compiled
// for Macs.
func wide() ([]*plan.Bundle, error) {
	s, err := spec.Load("../../../specs/youtumini.yaml")
	if err != nil {
		return nil, err
	}
	s = s.WithSequences(1, 16, 64, 512).WithClass(plan.ClassApple)
	s.Tuning.AttendHeads.From = 64
	b, err := gen.Compile(s, nil)
	return []*plan.Bundle{b}, err
}
