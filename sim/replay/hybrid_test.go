package replay_test

import (
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
	"mla/tools/tests/deep"
)

// hybridRun is a file with linear attention, and how its prompt runs in two sessions.
type hybridRun struct {
	name   string
	widths []int // of sequences
	rows   []int // at a time, in one run after the other
	act    string
}

// hybridRuns are all that the deep tier runs.
var hybridRuns []hybridRun

// TestHybrids: printed kernels of linear attention have the reference logits, whatever rows run in one batch: one at a time,
// some of two sessions, a prompt in pieces, and one that is wider than the prompt.
func TestHybrids(t *testing.T) {
	t.Parallel()
	runs := []hybridRun{{"bailingmoe3-mini-Q4_K_M", []int{1, 16}, []int{16}, "f32"}}
	if deep.On {
		runs = hybridRuns
	}
	fast := newDevice(t, execute.Fast)
	for _, run := range runs {
		t.Run(run.name+"/"+run.act, func(t *testing.T) { run.compare(t, fast) })
	}
}

func (run hybridRun) compare(t *testing.T, d *replay.Device) {
	t.Helper()
	stem := root + "testdata/hybrid/" + run.name
	ref, m := read(t, stem), bindTo(t, stem+".gguf", []*plan.Bundle{run.compile(t, stem+".gguf")}, bind.Wish{Act: run.act})
	allowed := 1e-3
	if run.act == "f16" {
		allowed = 0.1 // halves as inputs of products move the logits of these files by some 0.02
	}
	for _, rows := range run.rows {
		worst, err := inTurns(d, m, ref, rows)
		if err != nil || !(worst <= allowed) {
			t.Errorf("%d rows: logits are off by %g, %v", rows, worst, err)
		}
		t.Logf("%d rows: off by %g", rows, worst)
	}
}

// compile makes a bundle for a file.
func (run hybridRun) compile(t *testing.T, path string) *plan.Bundle {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := initspec.Generate(f, "hybrid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("hybrid.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	s.Activations = run.act
	s.Tuning.AttendHeads.From = plan.DefaultBatch + 1 // every prompt expands heads
	b, err := gen.Compile(s.WithSequences(run.widths...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// inTurns runs the prompt in two sessions, with the rows of the first session before those of the second in
// each batch, and compares the logits of each replay. No row runs twice, because that would update the state
// again.
func inTurns(d *replay.Device, m *device.Model, ref *reference.Reference, width int) (worst float64, err error) {
	pages := plan.Pages(len(ref.Prompt))
	r, err := d.Load(m, device.Config{KV: quant.F32, Context: len(ref.Prompt), Tables: 2, Pages: 2 * pages, Width: m.Bundle.Width()})
	if err != nil {
		return 0, err
	}
	for table := range 2 {
		var own []uint32
		for i := range pages {
			own = append(own, uint32(2*i+table))
		}
		if err := r.Assign(table, 0, own); err != nil {
			return 0, err
		}
	}
	for done := [2]int{}; done[1] < len(ref.Prompt); {
		var rows []plan.Row
		for table, most := range []int{(2*width + 2) / 3, width} {
			for len(rows) < most && done[table] < len(ref.Prompt) {
				row := reference.Step(ref.Prompt[done[table]], done[table])
				row.Table = uint32(table)
				rows = append(rows, row)
				done[table]++
			}
		}
		var wanted []int
		for i := max(0, len(rows)-r.Wanted(len(rows))); i < len(rows); i++ {
			wanted = append(wanted, i)
		}
		logits, err := r.Replay(rows, wanted)
		if err != nil {
			return 0, err
		}
		for n, i := range wanted {
			if off := ref.Worst(logits[n*ref.Vocab:(n+1)*ref.Vocab], int(rows[i].Pos)); !(off <= worst) {
				worst = off
			}
		}
	}
	return worst, r.Close()
}
