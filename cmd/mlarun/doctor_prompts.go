package main

import (
	"errors"
	"slices"

	"mla/runtime/device"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/probe"
	"mla/runtime/doctor/trial"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// prompts compares a long prompt, and many sessions, with the CPU.
func (x *examination) prompts() error {
	path, err := x.modelFile()
	if err != nil {
		x.Write(checkup.Skip, x.Stage.Name, "%v", err)
		return nil
	}
	return x.beside(path, func(_ *found, s *trial.Subject) error { return s.Prompts() })
}

// beside opens a file for the examined device and for the CPU, and calls run to compare them.
func (x *examination) beside(path string, run func(*found, *trial.Subject) error) (err error) {
	c, err := x.chosen(path)
	if err != nil {
		return err
	}
	defer closing(c.file.File, &err)
	gpu, host, err := x.both(c)
	if err != nil {
		return err
	}
	return run(c, &trial.Subject{Writer: x.Writer, Model: c.file, Bundle: c.bundle, GPU: gpu, CPU: host, Config: c.config})
}

// both returns the examined device, in the variant that a model needs, and the CPU.
func (x *examination) both(c *found) (gpu, host device.Device, err error) {
	f := x.flags.flags
	gpu, err1 := f.env.devices[x.Patient.Kind](f)
	host, err2 := f.env.devices["cpu"](f)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	gpu, err = f.withLibrary(gpu, c.bundle)
	return gpu, host, err
}

// The model whose shapes are timed: the largest dense model in the program.
const (
	shapesOf    = "youtu2b.yaml"
	shapesQuant = "q4_0"
)

// shapes times tokens of a model without weights.
func (x *examination) shapes() error {
	f := x.flags
	list, err := f.finder().Of("")
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(plan.For(x.Patient.Class, list), func(b *plan.Bundle) bool { return b.Spec != shapesOf || b.Activations != plan.ElemF16 })
	if len(list) == 0 {
		x.Write(checkup.Skip, x.Stage.Name, "this program has no bundle of %s", shapesOf)
		return nil
	}
	b := list[0]
	at := slices.IndexFunc(b.Profiles, func(p plan.Profile) bool { return p.Name == shapesQuant })
	if at < 0 {
		x.Write(checkup.Skip, x.Stage.Name, "bundle %s has no types of %s", b.Name, shapesQuant)
		return nil
	}
	p := &b.Profiles[at]
	switch n, err := probe.Bytes(b, p); {
	case err != nil:
		return err
	case f.metalLib != "":
		x.Write(checkup.Skip, x.Stage.Name, "a library stands in for Metal, whose speed says nothing")
		return nil
	case uint64(2*n) > x.Patient.Metal.MaxMemory || 2*n > engine.Available():
		x.Write(checkup.Skip, x.Stage.Name, "it takes %s; %s are available", engine.Size(2*n), engine.Size(min(engine.Available(), int64(x.Patient.Metal.MaxMemory))))
		return nil
	}
	return probe.Shapes(x.Writer, x.Patient.Metal, b, p, x.Patient.Metal.Info.Name)
}
