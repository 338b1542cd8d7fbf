package main

import (
	"fmt"

	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/schedule"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// scheduleContext is the context of each request of a random schedule, in tokens. There are pages for a third
// of the requests, so that some requests must give their pages back.
const (
	scheduleContext = 512
	scheduleSeed    = 1
)

// schedule runs a random schedule of requests twice, and requires the same bits both times.
func (x *examination) schedule() error {
	var runs [2]*schedule.Run
	for i := range runs {
		x.Write(checkup.Now, fmt.Sprintf("run %d", i+1), "")
		var err error
		if runs[i], err = x.runSchedule(scheduleSeed, i*x.flags.steps); err != nil {
			return err
		}
	}
	r := runs[0]
	x.Write(checkup.Note, "", "%d requests, %d of them cancelled; %d tokens, %d of them drafted; %d prompt tokens reused; %d rows of logits",
		r.Requests, r.Cancelled, r.Tokens, r.Accepted, r.Reused, r.Rows)
	if at := r.Differs(runs[1]); at >= 0 {
		x.Write(checkup.Fail, "schedule", "the two runs differ from step %d on, of %d and %d", at+1, len(r.Sums), len(runs[1].Sums))
		return nil
	}
	x.Write(checkup.Pass, "schedule", "%d steps twice: the same tokens and bits of logits", len(r.Sums))
	return nil
}

// runSchedule loads the model anew, so that no state of an earlier run remains.
func (x *examination) runSchedule(seed uint64, before int) (r *schedule.Run, err error) {
	most := plan.Pages(scheduleContext)
	l, err := x.flags.loadFor(func(e *engine.Engine) (capacity, error) {
		context := min(scheduleContext, e.MaxContext())
		return capacity{context: context, sessions: schedule.Requests, pages: max(schedule.Requests*plan.Pages(context)/3, most)}, nil
	})
	if err != nil {
		return nil, err
	}
	defer closing(l, &err)
	if before == 0 {
		x.Write(checkup.Fact, "schedule", "%s", l.describe())
	}
	ctx, stop := interruptible()
	defer stop()
	r = schedule.New(l.model, l.engine.Bundle().Model.VocabSize, seed)
	return r, r.Do(ctx, x.flags.steps, func(done int) { x.count(before+done, 2*x.flags.steps) })
}
