package main

import (
	"syscall"

	"mla/runtime/device/chips"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/probe"
)

// machine returns facts about this Mac. macOS 26 tells a program without cgo that it is 16.0 (rule 19), but
// the kernel's product version is correct.
func machine() (facts []checkup.Row) {
	for _, v := range []struct{ name, variable string }{
		{"macOS", "kern.osproductversion"}, {"build", "kern.osversion"}, {"machine", "hw.model"}, {"chip", "machdep.cpu.brand_string"},
	} {
		if text, err := syscall.Sysctl(v.variable); err == nil {
			facts = append(facts, checkup.Row{Kind: checkup.Fact, Name: v.name, Text: text})
		}
	}
	return append(facts, probe.Machine(chips.System)...)
}
