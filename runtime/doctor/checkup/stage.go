package checkup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mla/runtime/system/child"
)

// Result is what came of a stage.
type Result struct {
	Stage   string
	Facts   []Row
	Passed  int
	Skipped []Row
	Failed  []Row // at most mostRows; failures is how many there were
	Notes   []Row // the last ones
	Used    map[string]string
	Outcome child.Outcome
	// NotRun says why the stage was not run; "": it was.
	NotRun string

	part     Row // of kind Part, if any
	failures int
	now      string // what was tried last
	ended    bool
}

// mostRows of a kind are kept: more would not fit a report.
const mostRows = 100

// Run runs a stage and calls print with every row for people, those of what is tried
// next among them.
func Run(ctx context.Context, stage string, c child.Command, print func(Row)) *Result {
	r := &Result{Stage: stage, Used: map[string]string{}}
	c.Line = func(line []byte) {
		row := parse(line)
		r.take(row)
		if row.Kind != Use && row.Kind != Part && row.Kind != End {
			print(row)
		}
	}
	r.Outcome = child.Run(ctx, c)
	r.close(print)
	return r
}

// take keeps a row.
func (r *Result) take(row Row) {
	switch row.Kind {
	case Fact:
		r.Facts = keep(r.Facts, row)
	case Pass:
		r.Passed++
	case Skip:
		r.Skipped = keep(r.Skipped, row)
	case Fail:
		r.failures++
		r.Failed = keep(r.Failed, row)
	case Note:
		if r.Notes = append(r.Notes, row); len(r.Notes) > mostRows {
			r.Notes = r.Notes[1:]
		}
	case Now:
		r.now = row.Name
	case Part:
		r.part = row
	case Use:
		r.Used[row.Name] = row.Text
	case End:
		r.ended = true
	}
}

func keep(list []Row, row Row) []Row {
	if len(list) < mostRows {
		list = append(list, row)
	}
	return list
}

// close makes a failure of the way in which a process ended, unless its rows say it.
func (r *Result) close(print func(Row)) {
	text := r.Outcome.Reason
	switch r.Outcome.End {
	case child.Done:
		if r.ended {
			return
		}
		text = "the process ended before its work was done"
	case child.Failed:
		if r.ended && r.failures > 0 {
			return
		}
	case child.Stopped:
		r.NotRun = "interrupted"
		return
	default:
		text = strings.ToUpper(string(r.Outcome.End)) + ": " + text
	}
	name := r.Stage
	if r.now != "" {
		name = r.now
	}
	row := Row{Fail, name, text}
	r.take(row)
	print(row)
}

// Failures is how many checks failed, a crash or hang among them.
func (r *Result) Failures() int { return r.failures }

// Refused says that a stage ended in good order, because of an error and not of a
// failed check.
func (r *Result) Refused() bool { return r.Outcome.End == child.Failed && !r.ended }

// Status is the stage's result in a few words.
func (r *Result) Status() string {
	switch {
	case r.NotRun != "":
		return "not run: " + r.NotRun
	case r.Outcome.End == child.Crashed || r.Outcome.End == child.Hung || r.Outcome.End == child.Missing:
		return strings.ToUpper(string(r.Outcome.End))
	case r.failures > 0:
		return fmt.Sprintf("%d FAILED", r.failures)
	case r.Passed == 0:
		return "not checked: " + r.unchecked()
	case r.part.Kind == Part:
		return "ok for " + r.part.Name
	}
	return "ok"
}

// unchecked is why a stage that has ended well has checked nothing.
func (r *Result) unchecked() string {
	if len(r.Skipped) > 0 && r.Skipped[0].Text != "" {
		return strings.TrimSuffix(cut(r.Skipped[0].Text, 120), "\n")
	}
	return "there was nothing to check"
}

// Unchecked says that the stage has ended well and checked nothing.
func (r *Result) Unchecked() bool { return strings.HasPrefix(r.Status(), "not checked: ") }

// seconds is a duration for people.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
