package metal_test

import (
	"errors"
	"fmt"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

const tiny = "youtu-tiny-F32"

var tinyConfig = device.Config{Context: 200, KV: quant.F16}

// structure replays 200 tokens with as many in flight as possible until logits are wanted. It also checks the
// rules of a step, and closes twice.
func structure(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{Replay: metal.ReplayICB}, func(r device.Runner) error {
		for pos := range tinyConfig.Context {
			last := pos%50 == 49
			if _, err := r.Replay(reference.Rows(1, pos), device.AllIf(last, 1)); err != nil {
				return err
			}
			want := min(pos%50+1, metal.Ring)
			if last {
				want = 0
			}
			if n := metal.InFlight(r); n != want {
				return fmt.Errorf("position %d: %d tokens are in flight; expected %d", pos, n, want)
			}
		}
		for _, s := range []plan.Row{{Token: 1 << 30, NKV: 1}, {Pos: 200, NKV: 201}, {Pos: 1, NKV: 1}} {
			if _, err := r.Replay([]plan.Row{s}, device.All(1)); err == nil {
				return fmt.Errorf("%+v: no error", s)
			}
		}
		if r.Dispatches() < 10 {
			return fmt.Errorf("%d dispatches", r.Dispatches())
		}
		if err := takes(lib, r.Bytes()); err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
		return refuses(r)
	})
}

// refuses checks that every method of a closed runner fails.
func refuses(r device.Runner) error {
	page := make([]byte, r.PageBytes())
	for name, call := range map[string]func() error{
		"Replay":    func() error { _, err := r.Replay(reference.Rows(1, 0), device.All(1)); return err },
		"Assign":    func() error { return r.Assign(0, 0, []uint32{0}) },
		"CopyRows":  func() error { return r.CopyRows(0, 1, 1) },
		"ReadPage":  func() error { return r.ReadPage(0, page) },
		"WritePage": func() error { return r.WritePage(0, page) },
	} {
		if call() == nil {
			return fmt.Errorf("a closed runner takes %s", name)
		}
	}
	return nil
}

// takes compares the memory that a runner of tiny has allocated with the predicted memory.
func takes(lib string, got int64) error {
	m, done, err := reference.Bind(tiny, generated.Bundles(), "f32")
	if err != nil {
		return err
	}
	sizes, err := m.Measure(tinyConfig)
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	d, err := metal.Open(metal.Options{Library: lib, Replay: metal.ReplayEncode})
	if err != nil {
		return err
	}
	const constants = 64 << 10 // bytes at most, of arguments that are known when commands are
	if want := d.Takes(sizes); got < want || got > want+constants {
		return fmt.Errorf("%d bytes are allocated; %d were told", got, want)
	}
	return nil
}

// refused checks that the device does not open where it must not.
func refused(lib string) error {
	_, err := metal.Open(metal.Options{Library: lib})
	return err
}

// described returns the device's description of itself as an error.
func described(lib string) error {
	d, err := metal.Open(metal.Options{Library: lib, Trusted: trusted})
	if err != nil {
		return err
	}
	return fmt.Errorf("%s, family %d, virtual %v, %s, sets %v, replay %s, %s", d.Name(), d.Family, d.Virtual, d.OS, d.ResidencySets, d.HowReplayed(), d.Language())
}

// notAble checks that a pipeline which cannot be made is a verdict on the GPU, and not a failure of the
// runner.
func notAble(lib string) error {
	err := unallocated(lib)
	if !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("no verdict: %w", err)
	}
	return err
}

// trusted allows ICBs in this process.
func trusted(*metal.Info) bool { return true }

// unallocated checks recording where an allocation fails.
func unallocated(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{Trusted: trusted}, func(device.Runner) error { return nil })
}

// failure replays until a token fails, and checks that all later tokens fail, too.
func failure(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{Replay: metal.ReplayICB}, func(r device.Runner) error {
		var first error
		for pos := range 10 {
			_, err := r.Replay(reference.Rows(1, pos), device.AllIf(pos == 9, 1))
			if first != nil && err == nil {
				return nil // which the test takes for a missing error
			}
			if first == nil {
				first = err
			}
		}
		return first
	})
}
