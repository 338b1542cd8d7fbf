package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/trial"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/system/child"
)

// autoDevice is the value of -device for the first of autoDevices that runs the model.
const autoDevice = "auto"

// autoDevices are tried for -device auto, in this order.
var autoDevices = []string{"cuda", "cpu"}

// mayBe says whether -device auto looks for a kind of device: for Metal on Macs, and where a
// library stands in for it. Inputs that are rounded to bytes are for the CPU.
func (f *flags) mayBe(kind string) bool {
	return kind != "metal" || (runtime.GOOS == "darwin" || f.metalLib != "") && f.act != actInt8
}

// untried says why Apple's GPU does not run a model; nil: it does, as it was seen to compute what
// the CPU does, and faster. Another process is the first to try.
func (f *flags) untried(d device.Device, r *bind.Resolved, b *plan.Bundle) error {
	gpu := d.(*metal.Device)
	cfg, err := f.config(1)
	if err != nil {
		return err
	}
	cfg.Width = f.rows(b)
	folder := metal.CacheFolder()
	j := &trial.Judge{Folder: folder, Key: trial.KeyFor(metal.Key(&gpu.Info, f.metalLib), r, b, cfg, string(gpu.HowReplayed()))}
	p := f.progress("first run on this GPU: checking it against the CPU, once,")
	defer p.clear()
	j.Progress = p.show
	ctx, stop := interruptible()
	defer stop()
	if !f.keptOnly {
		j.Start = func() (child.Command, error) {
			f.say("%s is checked against the CPU, once, for some %d seconds\n", gpu.Info.Name, int(trial.Usual.Seconds()))
			c, err := f.env.self(f.trialArgs(gpu))
			c.Limit = cmp.Or(f.env.patience, trial.Limit)
			return c, err
		}
	}
	v, known := j.Verdict(ctx)
	p.clear()
	if ctx.Err() != nil {
		return context.Canceled
	}
	if v.OK {
		f.say("%s", trial.Good(gpu.Info.Name, v))
		return nil
	}
	if !known && v.Why == "" {
		v.Why = "nobody has checked it for this model"
	}
	bad := &trial.BadError{GPU: gpu.Info.Name, Why: v.Why, Report: f.reportCommand()}
	if known && folder != "" {
		bad.Kept = trust.Path(folder, trust.Model, j.Key)
	}
	return bad
}

// trialArgs are the command line of the process that tries: it finds the same bundle, and loads it
// in the same way.
func (f *flags) trialArgs(gpu *metal.Device) []string {
	args := []string{"doctor", "-stage", trial.Stage, "-device", "metal", "-replay", string(gpu.HowReplayed()), "-model", f.model}
	for name, value := range map[string]string{"metal-lib": f.metalLib, "metallib": f.metallib, "bundle": f.bundle, "act": f.act, "kv": f.kv, "pre": f.pre} {
		if value != "" {
			args = append(args, "-"+name, value)
		}
	}
	return append(args, "-width", strconv.Itoa(f.width), "-threads", strconv.Itoa(f.threads))
}

// reportCommand is the command that writes a report about the GPU and the model.
func (f *flags) reportCommand() string {
	line := "mlarun doctor -device metal -model " + bind.Quoted(f.model)
	if f.metalLib != "" {
		line += " -metal-lib " + bind.Quoted(f.metalLib)
	}
	return line + " -report report.md"
}

// say is note, or a line of the log where there are no notes.
func (f *flags) say(format string, a ...any) {
	if f.log != nil {
		f.log.Info(strings.TrimSpace(fmt.Sprintf(format, a...)))
		return
	}
	f.note(format, a...)
}
