package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// overflow checks the change from halves to floats: a GPU runs halves, and where an activation exceeds their
// range and no token can be picked, the text continues with floats. The floats run on the CPU, because the
// stand-in has the kernels of one source.
func overflow(lib string) (err error) {
	folder, err := os.MkdirTemp("", "overflow")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, err := devicetest.Overflow("../../..", folder)
	if err != nil {
		return err
	}
	var said []string
	gpu := opening.Candidate{
		Open: func() (device.Device, error) { return cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX}) },
		With: func(d device.Device, b *plan.Bundle) (device.Device, error) {
			if b.Activations == plan.ElemF32 {
				return cpu.New(), nil
			}
			return d, nil
		},
	}
	host := opening.Candidate{Open: func() (device.Device, error) { return cpu.New(), nil }}
	for _, unit := range []int{0, 4} { // the host takes each token, or the GPU continues by itself
		said = nil
		got, err1 := continued(path, gpu, unit, &said)
		want, err2 := continued(path, host, unit, &said)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !slices.Equal(got, want) || len(said) != 1 {
			return fmt.Errorf("units of %d: %v, said %q; want %v", unit, got, said, want)
		}
	}
	return nil
}

// continued is a text after devicetest.OverflowPrompt.
func continued(path string, on opening.Candidate, unit int, said *[]string) (tokens []int32, err error) {
	e, err := opening.Open(opening.Options{
		File:    func(device.Device) (*gguf.File, error) { return gguf.Open(path) },
		Bundles: &bundles.Finder{Program: generated.Bundles()},
		Devices: []opening.Candidate{on},
		Say:     func(line string) { *said = append(*said, line) },
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	m, err := e.Load(device.Config{Context: 64, Width: 16})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	s, err1 := m.NewSession()
	sampler, err2 := sample.New(sample.Off())
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	res, err := s.Generate(context.Background(), engine.Request{Prompt: devicetest.OverflowPrompt, Max: 10, Sampler: sampler, Ahead: unit}, func(int32) bool { return true })
	return res.Tokens, err
}
