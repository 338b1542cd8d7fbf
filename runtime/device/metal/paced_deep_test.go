//go:build deep

package metal_test

import (
	"mla/gen"
	"mla/gen/spec"
	"mla/generated"
	"mla/runtime/plan"
)

// All widths, on GPUs of both kinds, by both ways of replaying.
func init() {
	const file = "youtu-mini-Q4_0"
	m1 := []string{"METALSIM_GPU=m1"}
	pacedRuns = append(pacedRuns,
		pacedRun{"a batch, direct encoding", pacing{File: file, Width: 16, Units: 3, Replay: "encode"}, m1, false},
		pacedRun{"a batch, ICB", pacing{File: file, Width: 16, Units: 3, Replay: "icb"}, m1, false},
		pacedRun{"64 rows, ICB", pacing{File: file, Width: 64, Units: 3, Replay: "icb", Wide: true}, nil, true},
		pacedRun{"512 rows, ICB", pacing{File: file, Width: 512, Units: 1, Replay: "icb", Wide: true}, nil, true},
		pacedRun{"512 rows, direct encoding", pacing{File: file, Width: 512, Units: 1, Replay: "encode", Wide: true}, m1, true})
	pacedBundles = func(p *pacing) ([]*plan.Bundle, error) {
		if !p.Wide {
			return generated.Bundles(), nil
		}
		return wide()
	}
}

// wide is the bundle of youtu-mini with the prompts that large models have, as Macs run these.
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
