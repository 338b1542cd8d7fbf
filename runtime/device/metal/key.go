package metal

import (
	"fmt"
	"os"
	"time"

	"mla/runtime/device/metal/trust"
	"mla/runtime/system/buildinfo"
)

// Key is what a verdict on a GPU may depend on; library is Options.Library.
func Key(gpu *Info, library string) trust.Key {
	exe, err := os.Executable()
	if err != nil {
		exe = ""
	}
	return trust.Key{
		GPU:      fmt.Sprintf("%s, Apple%d", gpu.Name, gpu.Family),
		System:   gpu.OS,
		Program:  buildinfo.Line("mlarun") + ", " + trust.File(exe),
		Library:  trust.File(library),
		Settings: trust.Settings(os.Environ()),
	}
}

// Budget is how long a command buffer is predicted to take at most.
func (d *Device) Budget() time.Duration { return d.budget() }

// budget is how long a command buffer may take: less where the system has ended some.
func (d *Device) budget() time.Duration {
	if d.options.Cache == "" {
		return fullBudget
	}
	v, ok := trust.Kept(d.options.Cache, trust.Budget, Key(&d.Info, d.options.Library))
	if kept := time.Duration(v.Milliseconds) * time.Millisecond; ok && kept >= leastBudget && kept < fullBudget {
		return kept
	}
	return fullBudget
}

// keepBudget keeps a budget, and why there is a new one. Without a file the next run begins with the
// full budget, and finds out again.
func (d *Device) keepBudget(budget time.Duration, why string) (kept bool) {
	return d.options.Cache != "" &&
		trust.Keep(d.options.Cache, trust.Budget, Key(&d.Info, d.options.Library), trust.Verdict{Why: why, Milliseconds: int(budget / time.Millisecond)}) == nil
}
