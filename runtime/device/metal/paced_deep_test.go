//go:build deep

package metal_test

import (
	"fmt"
	"os"
	"strings"

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

// wide is the bundle of youtu-mini with the prompts that large models have.
func wide() ([]*plan.Bundle, error) {
	text, err := os.ReadFile("../../../specs/youtumini.yaml")
	if err != nil {
		return nil, err
	}
	changed := strings.NewReplacer("sequences: [1, 16, 24]", "sequences: [1, 16, 64, 512]", "from: 24", "from: 64").Replace(string(text))
	if strings.Count(changed, "64") < strings.Count(string(text), "64")+2 {
		return nil, fmt.Errorf("specs/youtumini.yaml has other sequences than these tests change")
	}
	s, err := spec.Parse("youtumini.yaml", []byte(changed))
	if err != nil {
		return nil, err
	}
	b, err := gen.Compile(s.Variants()[0], nil)
	return []*plan.Bundle{b}, err
}
