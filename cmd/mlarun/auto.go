package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/trial"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/system/child"
)

// autoDevice is the value of -device for the first device of autoDevices that runs the model.
const autoDevice = "auto"

// autoDevices are tried for -device auto, in this order.
var autoDevices = []string{"cuda", "metal", "cpu"}

// mayBe says whether -device auto considers a kind of device. Metal is considered on Macs, and where a
// library replaces it. Inputs that are rounded to bytes need the CPU.
func (f *flags) mayBe(kind string) bool {
	return kind != "metal" || (runtime.GOOS == "darwin" || f.metalLib != "") && f.act != actInt8
}

// untried returns why Apple's GPU must not run a model; nil: a trial has shown that it computes what the CPU
// does, and faster. The trial runs in another process.
func (f *flags) untried(d device.Device, r *bind.Resolved, b *plan.Bundle) error {
	gpu := d.(*metal.Device)
	cfg, err := f.config(1)
	if err != nil {
		return err
	}
	cfg.Width = f.rows(b)
	j := &trial.Judge{
		GPU: gpu.Info.Name, Report: trial.ReportCommand(f.model, f.metalLib), Folder: metal.CacheFolder(), Say: f.say,
		Key: trial.KeyFor(metal.Key(&gpu.Info, f.metalLib), r, b, cfg, string(gpu.HowReplayed())),
	}
	p := f.progress("first run on this GPU: checking it against the CPU, once,")
	defer p.clear()
	j.Progress = p.show
	if !f.keptOnly {
		j.Start = func() (child.Command, error) {
			f.say("%s is checked against the CPU, once, for some %d seconds\n", gpu.Info.Name, int(trial.Usual.Seconds()))
			c, err := f.env.self(f.trialArgs(gpu, b))
			c.Limit = cmp.Or(f.env.patience, trial.Limit)
			return c, err
		}
	}
	ctx, stop := interruptible()
	defer stop()
	return j.Refusal(ctx)
}

// trialArgs returns the command line of the trial's process, which must find the same bundle and load it in
// the same way.
func (f *flags) trialArgs(gpu *metal.Device, b *plan.Bundle) []string {
	more := []string{"-width", strconv.Itoa(f.width), "-threads", strconv.Itoa(f.threads), "-t", cmp.Or(f.env.kernels, trial.KernelTime).String()}
	for name, value := range map[string]string{"metallib": f.metallib, "bundle": f.bundle, "act": b.Act(), "kv": f.kv, "pre": f.pre} {
		if value != "" {
			more = append(more, "-"+name, value)
		}
	}
	return trial.Args(f.model, f.metalLib, string(gpu.HowReplayed()), more...)
}

// say prints a note, or writes to the log if the command prints no notes.
func (f *flags) say(format string, a ...any) {
	if f.log != nil {
		f.log.Info(strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf(format, a...)), "\n", "; "))
		return
	}
	f.note(format, a...)
}
