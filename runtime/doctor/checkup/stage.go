package checkup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mla/runtime/system/child"
)

// Result is the outcome of a stage.
type Result struct {
	Stage   string
	Facts   []Row
	Passed  int
	Skipped []Row
	Failed  []Row // at most mostRows; failures counts all
	Notes   []Row // the last mostRows notes
	Used    map[string]string
	Outcome child.Outcome
	// NotRun is the reason why the stage was not run; "": it was run.
	NotRun string

	part     Row // the row of kind Part, if there was one
	failures int
	now      string // the last attempt
	ended    bool
}

// mostRows is how many rows of a kind are kept: more would not fit into a report.
const mostRows = 100

// Run runs a stage and calls print with every row for the user, including rows of kind Now.
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

// take records a row.
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

// close records the way in which the process ended as a failure, unless the rows say it.
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

// Failures returns the number of failed checks, including a crash or a hang.
func (r *Result) Failures() int { return r.failures }

// Refused says whether the stage ended in an orderly way because of an error that is not a failed check.
func (r *Result) Refused() bool { return r.Outcome.End == child.Failed && !r.ended }

// Status returns the stage's result in a few words.
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

// unchecked returns why a stage without failures has checked nothing.
func (r *Result) unchecked() string {
	if len(r.Skipped) > 0 && r.Skipped[0].Text != "" {
		return strings.TrimSuffix(cut(r.Skipped[0].Text, 120), "\n")
	}
	return "there was nothing to check"
}

// Unchecked says whether the stage has ended without failures and has checked nothing.
func (r *Result) Unchecked() bool { return strings.HasPrefix(r.Status(), "not checked: ") }

// seconds formats a duration.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
