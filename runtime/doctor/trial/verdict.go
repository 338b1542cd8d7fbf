package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"mla/runtime/device"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/checkup"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/system/child"
)

// Judge decides whether a GPU runs a model.
type Judge struct {
	GPU    string    // the GPU's name
	Report string    // the command that writes a report
	Folder string    // folder of the kept verdicts; "": verdicts are not kept
	Key    trust.Key // see KeyFor
	// Start returns the process that runs the trial; nil: only a kept verdict counts.
	Start func() (child.Command, error)
	// Say prints whole lines for the user.
	Say func(format string, args ...any)
	// Progress is called with each step of the trial; may be nil.
	Progress func(what string)

	unkept error // why the verdict could not be kept
}

// KeyFor returns the key of a verdict. It depends on the GPU and its system (as in key), the bundle's
// kernels, the types of the file's tensors, and how the model is loaded.
func KeyFor(key trust.Key, r *bind.Resolved, b *plan.Bundle, cfg device.Config, replay string) trust.Key {
	types := sha256.New()
	for _, row := range r.Types(b) {
		fmt.Fprintln(types, row)
	}
	key.Model = fmt.Sprintf("%s, %s cache, %d rows, %s, types %s", b.Name, cfg.KV, cfg.Width, replay, hex.EncodeToString(types.Sum(nil)[:8]))
	key.Kernels = kernelsOf(b)
	return key
}

// kernelsOf identifies the kernels of a bundle.
func kernelsOf(b *plan.Bundle) string {
	sum := sha256.Sum256([]byte(b.Name + "\x00" + b.SpecHash + "\x00" + b.SourceHash + "\x00" + b.Source))
	return hex.EncodeToString(sum[:8])
}

// Verdict returns the kept verdict, or else the result of a trial. known is false if there is neither.
func (j *Judge) Verdict(ctx context.Context) (v trust.Verdict, known bool) {
	if j.Folder != "" {
		if v, kept := trust.Kept(j.Folder, trust.Model, j.Key); kept {
			return v, true
		}
	}
	if j.Start == nil {
		return v, false
	}
	c, err := j.Start()
	if err != nil {
		return trust.Verdict{Why: err.Error()}, false
	}
	r := checkup.Run(ctx, Stage, c, func(row checkup.Row) {
		if row.Kind == checkup.Now && j.Progress != nil {
			j.Progress(row.Name)
		}
	})
	v, known = j.verdict(r)
	if known && j.Folder != "" {
		j.unkept = trust.Keep(j.Folder, trust.Model, j.Key, v)
	}
	return v, known
}

// verdict returns the result of a trial's process. known is false if the process has found out nothing about
// the GPU and this model.
func (j *Judge) verdict(r *checkup.Result) (v trust.Verdict, known bool) {
	switch end := r.Outcome.End; {
	case end == child.Missing || end == child.Stopped:
		return trust.Verdict{Why: "the check did not run: " + r.Outcome.Reason}, false
	case r.Used[rowBundle] != "" && r.Used[rowBundle] != j.Key.Kernels:
		return trust.Verdict{Why: "the check ran another bundle"}, false
	case r.Used[rowHost] != "":
		return trust.Verdict{Why: "the CPU, with which it is compared, does not run the model: " + r.Used[rowHost]}, false
	case r.Failures() > 0:
		return trust.Verdict{Why: fmt.Sprintf("%s: %s", r.Failed[0].Name, r.Failed[0].Text)}, true
	}
	number := func(name string) float64 {
		x, err := strconv.ParseFloat(r.Used[name], 64)
		if err != nil {
			return 0
		}
		return x
	}
	v = trust.Verdict{Kernels: int(number(rowKernels)), GPU: number(rowGPU), CPU: number(rowCPU)}
	switch {
	case v.GPU == 0 || v.CPU == 0:
		return trust.Verdict{Why: "the check ended without speeds"}, true
	case v.GPU <= v.CPU:
		v.Why = fmt.Sprintf("it is not faster than the CPU: %.1f tokens a second, the CPU %.1f", v.GPU, v.CPU)
	default:
		v.OK = true
	}
	return v, true
}

// Refusal returns why the GPU does not run the model; nil: it does, and the user is told.
func (j *Judge) Refusal(ctx context.Context) error {
	v, known := j.Verdict(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case v.OK:
		j.Say("%s was checked: %d launches of kernels agree with the CPU's, and it runs %.1f tokens a second, the CPU %.1f; -device cpu takes the CPU%s\n", j.GPU, v.Kernels, v.GPU, v.CPU, again(j.unkept))
		return nil
	case v.Why == "":
		v.Why = "nobody has checked it for this model"
	}
	bad := &RefusedError{GPU: j.GPU, Why: v.Why, Report: j.Report, Unkept: j.unkept}
	if known && j.Folder != "" && j.unkept == nil {
		bad.Kept = trust.Path(j.Folder, trust.Model, j.Key)
	}
	return bad
}

// RefusedError is the reason why a GPU is not used.
type RefusedError struct {
	GPU, Why string
	Kept     string // the file with the verdict; "": the verdict is not kept
	Unkept   error  // why the verdict could not be kept
	Report   string // the command for a report
}

// Overflow says whether the logits had NaN or infinities. With a bundle of halves, an activation may have
// left their range.
func (e *RefusedError) Overflow() bool { return e.Why == rowLogits+": "+noNumber }

// Error describes what the GPU did wrong, and the remedies.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s is not used: %s; -device metal uses it all the same, and %s writes a report", e.GPU, e.Why, e.Report)
	if e.Kept != "" {
		text += fmt.Sprintf("; without the file %s it is checked again", e.Kept)
	}
	return text + again(e.Unkept)
}

// again describes the consequence of a verdict that could not be kept.
func again(unkept error) string {
	if unkept == nil {
		return ""
	}
	return fmt.Sprintf("; this could not be kept, so the next start checks again: %v", unkept)
}

// Args returns the command line of mlarun that runs the trial, for a model file and a library that replaces
// Metal. more holds the flags with which the process finds the same bundle.
func Args(model, library, replay string, more ...string) []string {
	return append([]string{"doctor", "-stage", Stage, "-device", "metal", "-metal-lib", library, "-replay", replay, "-model", model}, more...)
}

// ReportCommand returns the command that writes a report about a GPU and a model.
func ReportCommand(model, library string) string {
	line := "mlarun doctor -device metal -model " + bind.Quoted(model)
	if library != "" {
		line += " -metal-lib " + bind.Quoted(library)
	}
	return line + " -report report.md"
}
