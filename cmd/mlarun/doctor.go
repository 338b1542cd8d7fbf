package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"mla/cmd/internal/output"
	"mla/runtime/device"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/stages"
	"mla/runtime/system/buildinfo"
	"mla/runtime/system/child"
)

// errSick is the doctor's verdict if a check has failed. The report names the check.
var errSick = errors.New("the device does not work as it should; the report above says where")

// leastReplays is the least number of replays for a comparison: the first two are the reference.
const leastReplays = 3

// doctorFlags are the flags of the doctor.
type doctorFlags struct {
	*flags
	args    []string // the command line
	cfg     device.Config
	replays int
	steps   int
	tokens  int
	kernels time.Duration
	limit   time.Duration
	report  string
	verbose bool
	stages  string // stages that this process runs; "": it starts one process per stage
}

// doctor examines a device in stages, each in its own process: its capabilities, its kernels against their Go
// references, and the speed of whole tokens. Alternatively it compares many replays of a token with each
// other.
func doctor(e *env, args []string) (err error) {
	out := &output.Writer{To: e.out}
	own := *e
	own.out = out
	defer func() { err = errors.Join(err, out.Err) }()
	f, err := newDoctorFlags(&own, args)
	if err != nil {
		return err
	}
	if f.stages != "" {
		child.Guard()
		return f.runStages(strings.Split(f.stages, ","))
	}
	if err := f.check(); err != nil {
		return err
	}
	return f.examine()
}

func newDoctorFlags(e *env, args []string) (*doctorFlags, error) {
	f := &doctorFlags{flags: newFlags(e, "mlarun doctor", "[-device cpu|cuda|metal] [-model F] [-t 60s | -stress N | -schedule N] [-report FILE] [flags]").running().comparing(), args: args}
	f.IntVar(&f.replays, "stress", 0, "instead of checking kernels, replay a token of the model this `many` times and compare the bits of what it computes")
	f.IntVar(&f.steps, "schedule", 0, "instead of checking kernels, run `steps` of a random schedule of requests on the model, twice, and compare the tokens and the bits of the logits")
	f.DurationVar(&f.kernels, "t", time.Minute, "stop checking kernels after this `time`; with -model there is no limit unless it is given")
	f.IntVar(&f.tokens, "n", 200, "`tokens` to generate for speed, memory and idle behaviour; 0: none; fewer than 100: long prompts and long command buffers are left out, too")
	f.DurationVar(&f.limit, "limit", 0, "end a stage that takes longer than this `time` (default: every stage has its own)")
	f.StringVar(&f.report, "report", "", "write a report of at most 20 kB to a `file`, as Markdown")
	f.BoolVar(&f.verbose, "v", false, "print every check, those that passed too")
	f.StringVar(&f.stages, "stage", "", "run only these `stages`, separated by commas, in this process, and print rows of JSON: what the doctor does to itself")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, f.wrong("unexpected argument %q", rest[0])
	case f.given("stress") && (f.replays < leastReplays || f.model == ""):
		return nil, f.wrong("-stress needs a -model, and %d replays or more", leastReplays)
	case f.given("schedule") && (f.steps < 1 || f.model == "" || f.given("stress")):
		return nil, f.wrong("-schedule needs a -model, 1 step or more, and no -stress")
	case f.tokens < 0 || f.tokens > maxTokens:
		return nil, f.wrong("-n is %d; expected 0 to %d", f.tokens, maxTokens)
	case f.limit < 0:
		return nil, f.wrong("-limit is %v; expected a time", f.limit)
	}
	if _, ok := patients[f.device]; !ok {
		return nil, f.wrong("-device: there is no doctor for %q", f.device)
	}
	if err := f.chooseBackend(); err != nil {
		return nil, err
	}
	f.cfg, err = f.config(1)
	return f, err
}

// check checks the conditions without which every stage would fail.
func (f *doctorFlags) check() (err error) {
	if f.model == "" {
		return nil
	}
	file, err := f.openModel()
	if err != nil {
		return err
	}
	return file.Close()
}

// examine runs the stages, prints their rows and writes the report.
func (f *doctorFlags) examine() error {
	ctx, stop := interruptible()
	defer stop()
	r := &checkup.Report{Title: "mlarun doctor", Facts: append([]checkup.Row{
		{Kind: checkup.Fact, Name: "program", Text: buildinfo.Line("mlarun")},
		{Kind: checkup.Fact, Name: "command", Text: f.commandLine()},
		{Kind: checkup.Fact, Name: "platform", Text: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()},
	}, machine()...)}
	fmt.Fprintln(f.env.out, r.Title)
	for _, fact := range r.Facts {
		fmt.Fprintf(f.env.out, "  %s\n", fact)
	}
	kind := f.device
	if kind == "auto" && (runtime.GOOS == "darwin" || f.metalLib != "") {
		kind = "metal" // the stages of Metal apply even if the first stage crashes
	}
	for i := range stages.All {
		s := &stages.All[i]
		if !s.Wanted(f.asked(), kind) {
			continue
		}
		result := &checkup.Result{Stage: s.Name, NotRun: f.whyNot(ctx, r)}
		if r.Running = s.Name; result.NotRun == "" {
			if err := f.save(r); err != nil {
				return err
			}
			result = f.inChild(ctx, s, kind)
			if found, ok := result.Used[stages.UsedDevice]; ok {
				kind = found
			}
		}
		r.Results = append(r.Results, result)
	}
	r.Running = ""
	if err := f.save(r); err != nil {
		return err
	}
	return f.verdict(ctx, r)
}

// commandLine returns the doctor's command line without the name of the user's folder, as reports are sent to
// strangers.
func (f *doctorFlags) commandLine() string {
	line := strings.Join(append([]string{"mlarun doctor"}, f.args...), " ")
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		line = strings.ReplaceAll(line, home, "~")
	}
	return line
}

// whyNot returns why no further stage is run; "": one is.
func (f *doctorFlags) whyNot(ctx context.Context, r *checkup.Report) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case len(r.Results) > 0 && r.Results[0].Refused():
		return "the device cannot be opened"
	}
	return ""
}

// inChild runs a stage on a kind of device in its own process.
func (f *doctorFlags) inChild(ctx context.Context, s *stages.Stage, kind string) *checkup.Result {
	fmt.Fprintf(f.env.out, "\n%s\n", s.Name)
	bar := f.progress(s.Name)
	defer bar.clear()
	print := func(row checkup.Row) {
		if row.Kind == checkup.Now {
			if row.Name != s.Name { // the progress line shows the stage's own name already
				bar.show(row.Name)
			}
			return
		}
		bar.clear()
		fmt.Fprintf(f.env.out, "  %s\n", row)
	}
	c, err := f.env.self(append(append([]string{"doctor", "-stage", s.Name}, f.args...), "-device", kind))
	if err != nil {
		print(checkup.Row{Kind: checkup.Skip, Name: s.Name, Text: err.Error()})
		return &checkup.Result{Stage: s.Name, NotRun: err.Error()}
	}
	if c.Limit = s.Limit(f.asked()); f.limit > 0 {
		c.Limit = f.limit
	}
	rows := &collapser{print: print, all: f.verbose}
	result := checkup.Run(ctx, s.Name, c, rows.row)
	rows.flush()
	bar.clear()
	fmt.Fprintf(f.env.out, "  %s, %.1f s\n", result.Status(), result.Outcome.Elapsed.Seconds())
	if said := result.Said(); said != "" && result.Failures() > 0 {
		fmt.Fprintf(f.env.out, "  it said: %s\n", strings.ReplaceAll(said, "\n", "\n    "))
	}
	return result
}

// save writes the report so far, so that it names the running stage even if the whole machine crashes.
func (f *doctorFlags) save(r *checkup.Report) error {
	if f.report == "" {
		return nil
	}
	if err := r.WriteFile(f.report); err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return nil
}

func (f *doctorFlags) verdict(ctx context.Context, r *checkup.Report) error {
	switch n := r.Failures(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case n > 0:
		fmt.Fprintf(f.env.out, "\nresult: %d FAILED\n", n)
		return errSick
	}
	if slices.ContainsFunc(r.Results, func(s *checkup.Result) bool { return s.NotRun != "" }) {
		fmt.Fprintln(f.env.out, "\nresult: not examined")
		return errSick
	}
	text := "ok"
	if left := r.Unchecked(); len(left) > 0 {
		text += ", but not checked: " + strings.Join(left, ", ")
	}
	fmt.Fprintf(f.env.out, "\nresult: %s\n", text)
	return nil
}
