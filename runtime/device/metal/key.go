package metal

import (
	"fmt"
	"os"
	"time"

	"mla/runtime/device/metal/trust"
	"mla/runtime/system/buildinfo"
)

// Key is everything that a verdict on a GPU may depend on; library is Options.Library.
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

// Budget is the longest predicted time of a command buffer.
func (d *Device) Budget() time.Duration { return d.budget() }

// budget is the longest predicted time of a command buffer. It is reduced where the system has ended a longer
// one.
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

// keepBudget stores a new budget, with the reason for it, for later runs. Without a file the next run begins
// with the full budget again.
func (d *Device) keepBudget(budget time.Duration, why string) (kept bool) {
	return d.options.Cache != "" &&
		trust.Keep(d.options.Cache, trust.Budget, Key(&d.Info, d.options.Library), trust.Verdict{Why: why, Milliseconds: int(budget / time.Millisecond)}) == nil
}
