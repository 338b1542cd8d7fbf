package main

import (
	"mla/runtime/device"
	"mla/runtime/doctor/trial"
)

// trials says whether the doctor's examination has a trial of the whole model: of one's own, unless
// the command line says how many tokens there are to be.
func trials(f *doctorFlags) bool { return f.model != "" && generates(f) && !f.given("n") }

// trial compares the model on this device with the CPU.
func (x *examination) trial() (err error) {
	c, err := x.chosen(x.flags.model)
	if err != nil {
		return err
	}
	defer closing(c.file.File, &err)
	gpu, host, err := x.both(c)
	if err != nil {
		return err
	}
	s := &trial.Subject{
		Writer: x.Writer, Model: c.file, Bundle: c.bundle, GPU: gpu, CPU: host, Config: c.config, Functions: c.used,
		Launcher: func() (device.Launcher, func(), error) { return x.patient.Launcher(c.bundle, c.used) },
	}
	if x.flags.given("t") {
		s.Kernels = x.flags.kernels
	}
	return s.Run()
}
