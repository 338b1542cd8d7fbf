package reference

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Batches runs the prompt in two sessions side by side, at most width rows at a time. The first session takes
// more rows of each replay than the second. So there are replays with rows of one session, of both, and with
// fewer rows than a sequence is wide. Batches returns the greatest difference from the reference logits.
func (ref *Reference) Batches(d device.Device, m *device.Model, cfg device.Config, width int) (worst float64, err error) {
	pages := plan.Pages(len(ref.Prompt))
	cfg.Context, cfg.Tables, cfg.Pages, cfg.Width = len(ref.Prompt), 2, 2*pages, m.Bundle.Width()
	r, err := d.Load(m, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Width() < width {
		return 0, fmt.Errorf("%d rows at a time; expected at least %d", r.Width(), width)
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
	var done [2]int // rows that each session has run
	for done[1] < len(ref.Prompt) {
		rows := ref.next(&done, width)
		off, err := ref.worstOf(r, rows)
		if err != nil {
			return worst, err
		}
		if !(off <= worst) {
			worst = off
		}
	}
	return worst, nil
}

// worstOf runs rows and compares the logits of all of them. If a replay returns the logits of fewer rows, it
// runs the rows again for the next ones, which stores the same cache rows.
func (ref *Reference) worstOf(r device.Runner, rows []plan.Row) (worst float64, err error) {
	most := r.Wanted(len(rows))
	for from := 0; from < len(rows); from += most {
		var wanted []int
		for i := from; i < min(from+most, len(rows)); i++ {
			wanted = append(wanted, i)
		}
		logits, err := r.Replay(rows, wanted)
		if err != nil {
			return worst, err
		}
		for n, i := range wanted {
			if off := ref.Worst(logits[n*ref.Vocab:(n+1)*ref.Vocab], int(rows[i].Pos)); !(off <= worst) {
				worst = off
			}
		}
	}
	return worst, nil
}

// next returns up to width rows, about two thirds of them from the first session.
func (ref *Reference) next(done *[2]int, width int) []plan.Row {
	var rows []plan.Row
	for i, most := range []int{(2*width + 2) / 3, width} {
		for len(rows) < most && done[i] < len(ref.Prompt) {
			row := Step(ref.Prompt[done[i]], done[i])
			row.Table = uint32(i)
			rows = append(rows, row)
			done[i]++
		}
	}
	return rows
}

// Batched tests several sessions on the loaded model of youtu-tiny-F32, with batches of up to five rows, and
// with tokens picked after them.
func Batched(d device.Device, m *device.Model) error {
	return errors.Join(batched(d, m, quant.F16), batchesWithin(1e-3, "youtu-tiny-F32", d, m, 5))
}

// Sharing tests sessions of a model that share pages of a cache of q8_0, with tokens picked after batches.
func Sharing(d device.Device, m *device.Model) error { return batched(d, m, quant.Q8_0) }

func batched(d device.Device, m *device.Model, kv quant.Type) error {
	cfg := device.Config{KV: kv}
	return errors.Join(Sessions(d, m, cfg), Picks(d, m, cfg))
}

// batchesWithin runs Batches on a file of the package with a cache of float32. It fails if the logits are
// farther off than the tolerance.
func batchesWithin(tolerance float64, name string, d device.Device, m *device.Model, width int) error {
	ref, err := Read(name)
	if err != nil {
		return err
	}
	worst, err := ref.Batches(d, m, device.Config{KV: quant.F32}, width)
	if err == nil && !(worst <= tolerance) {
		err = fmt.Errorf("up to %d rows in one batch: logits differ by %g; at most %g is allowed", width, worst, tolerance)
	}
	return err
}
