package mla

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"mla/runtime/device"
	"mla/runtime/device/blas"
	"mla/runtime/device/cuda"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/trial"
	"mla/runtime/engine/opening"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/system/child"
)

// candidates are the devices that the options name, in the order in which they are tried.
func (o *Options) candidates(finder *bundles.Finder) ([]opening.Candidate, error) {
	onCPU := opening.Candidate{Name: "cpu", Open: func() (device.Device, error) { return blas.CPU(), nil }}
	onCUDA := opening.Candidate{
		Name: "cuda",
		Open: func() (device.Device, error) {
			d, err := cuda.Open(cuda.Options{PTX: finder.PTX})
			if err != nil {
				return nil, err // not a *cuda.Device that is nil
			}
			return d, nil
		},
		Absent: cuda.Absent,
		Lacks:  finder.HasPTX,
	}
	onMetal := opening.Candidate{
		Name: "metal",
		Open: func() (device.Device, error) {
			d, err := metal.Open(metal.Options{Library: o.MetalLibrary, Replay: metal.ReplayEncode, Cache: metal.CacheFolder()})
			if err != nil {
				return nil, err
			}
			return d, nil
		},
		Refuses: o.unchecked,
	}
	switch o.Device {
	case "":
		if runtime.GOOS == "darwin" || o.MetalLibrary != "" {
			return []opening.Candidate{onCUDA, onMetal, onCPU}, nil
		}
		return []opening.Candidate{onCUDA, onCPU}, nil
	case "cpu":
		return []opening.Candidate{onCPU}, nil
	case "cuda":
		return []opening.Candidate{onCUDA}, nil
	case "metal":
		return []opening.Candidate{onMetal}, nil
	}
	return nil, fmt.Errorf("there is no device %q; expected cpu, cuda or metal", o.Device)
}

// unchecked says why Apple's GPU does not run a model; nil: it was checked.
func (o *Options) unchecked(d device.Device, r *bind.Resolved, b *plan.Bundle) error {
	kv, err := o.cache()
	if err != nil {
		return err
	}
	gpu := d.(*metal.Device)
	key := metal.Key(&gpu.Info, o.MetalLibrary)
	if o.Checker != "" {
		key.Program += ", " + trust.File(o.Checker)
	}
	j := &trial.Judge{
		GPU: gpu.Info.Name, Report: trial.ReportCommand(r.File.Path, o.MetalLibrary), Folder: metal.CacheFolder(), Say: o.note,
		Key: trial.KeyFor(key, r, b, device.Config{KV: kv, Width: b.Width()}, string(gpu.HowReplayed())),
	}
	if o.Checker != "" {
		j.Start = func() (child.Command, error) {
			args := trial.Args(r.File.Path, o.MetalLibrary, string(gpu.HowReplayed()), "-kv", kv.String(), "-act", b.Act())
			if bundles.IsFile(o.Bundle) {
				args = append(args, "-bundle", o.Bundle)
			}
			return child.Command{Path: o.Checker, Args: args, Limit: trial.Limit}, nil
		}
	}
	return j.Refusal(context.Background())
}

// note tells the program a line.
func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// cache is the type of the latent caches.
func (o *Options) cache() (quant.Type, error) {
	kv, err := plan.CacheType(cmp.Or(o.Cache, "f16"))
	if err != nil {
		err = fmt.Errorf("the type of the cache %w", err)
	}
	return kv, err
}
