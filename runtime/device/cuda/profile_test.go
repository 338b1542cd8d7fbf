package cuda_test

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// profile measures all stages with one cache row and with all, and a copy. Times are those of the
// stand-in and mean nothing.
func profile(lib string) error {
	ref, err := reference.Read("glm47-tiny-Q4_0")
	if err != nil {
		return err
	}
	return with(lib, "glm47-tiny-Q4_0", device.Config{Context: len(ref.Prompt), KV: quant.F16}, func(r device.Runner) error {
		p := r.Diagnostics().Profiler
		if _, err := r.Replay(reference.Rows(1, 0), nil); err != nil { // in flight
			return err
		}
		if rate, err := p.CopyBandwidth(); err != nil || rate <= 0 {
			return fmt.Errorf("a copy moves %g bytes per second, %w", rate, err)
		}
		var bytes [2]int64
		for i, rows := range []int{1, len(ref.Prompt)} {
			stages, err := p.Profile(&device.Profiling{Rows: rows})
			if err != nil {
				return err
			}
			count := 0
			for _, s := range stages {
				count += s.Count
				bytes[i] += int64(s.Count) * s.Bytes
				if s.Time <= 0 || s.Bytes <= 0 || len(s.Functions) == 0 || s.Bandwidth() <= 0 {
					return fmt.Errorf("stage %+v", s)
				}
			}
			if count > r.Dispatches() || count < r.Dispatches()/2 {
				return fmt.Errorf("%d stages of %d dispatches", count, r.Dispatches())
			}
		}
		if bytes[1] <= bytes[0] {
			return fmt.Errorf("a token moves %d bytes with one row, %d with all", bytes[0], bytes[1])
		}
		one, err := p.Profile(&device.Profiling{Rows: 1, Wanted: func(functions []string) bool { return functions[0] == "attend_f16" }})
		if err != nil || len(one) != 1 || !slices.Equal(one[0].Functions, []string{"attend_f16"}) {
			return fmt.Errorf("one kind: %+v, %w", one, err)
		}
		for _, rows := range []int{0, len(ref.Prompt) + 1} {
			if _, err := p.Profile(&device.Profiling{Rows: rows}); err == nil {
				return fmt.Errorf("%d rows of %d are accepted", rows, len(ref.Prompt))
			}
		}
		return ref.InFlight(r, 0.05)
	})
}

// checked compares kernels of a bundle, or of a part of it, with their references.
func checked(bundleName string, names []string) func(string) error {
	return func(lib string) error {
		b := part(bundleName, names)
		cases, err := check.Cases(b)
		if err != nil {
			return err
		}
		d, err := cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX})
		if err != nil {
			return err
		}
		l, err := d.NewLauncher(b)
		if err != nil {
			return err
		}
		for i := range cases {
			if r := cases[i].Check(l); !r.OK() {
				return fmt.Errorf("%s at %d, %s: off by %g, %g is allowed: %s %w", cases[i].Variant.Func, r.Case.Pos, r.Slot, r.Error, r.Tolerance, r.Detail, r.Err)
			}
		}
		return errors.Join(unlaunched(l), l.Close(), leaks(lib))
	}
}

// unlaunched wants a kernel to be refused that does not exist.
func unlaunched(l *cuda.Launcher) error {
	if err := l.Launch(&device.Launch{Kernel: &plan.Kernel{}, Variant: &plan.Variant{Func: "missing"}}); err == nil {
		return errors.New("a missing kernel is launched")
	}
	return nil
}
