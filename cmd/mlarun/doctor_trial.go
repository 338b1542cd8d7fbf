package main

import (
	"mla/runtime/device"
	"mla/runtime/doctor/trial"
)

// trial compares the model on this device with the CPU.
func (x *examination) trial() error {
	return x.beside(x.flags.model, func(c *found, s *trial.Subject) error {
		s.Functions = c.used
		s.Launcher = func() (device.Launcher, func(), error) { return x.Patient.Launcher(c.bundle, c.used) }
		if x.flags.given("t") {
			s.Kernels = x.flags.kernels
		}
		return s.Run()
	})
}
