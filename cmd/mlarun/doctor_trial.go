package main

import (
	"mla/runtime/device"
	"mla/runtime/doctor/trial"
)

// trials says whether the doctor's examination has a trial of the whole model: of one's own, unless
// the command line says how many tokens there are to be.
func trials(f *doctorFlags) bool { return f.model != "" && generates(f) && !f.given("n") }

// trial compares the model on this device with the CPU.
func (x *examination) trial() error {
	return x.beside(x.flags.model, func(c *found, s *trial.Subject) error {
		s.Functions = c.used
		s.Launcher = func() (device.Launcher, func(), error) { return x.patient.Launcher(c.bundle, c.used) }
		if x.flags.given("t") {
			s.Kernels = x.flags.kernels
		}
		return s.Run()
	})
}
