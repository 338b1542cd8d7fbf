package metal

import (
	"time"

	"mla/runtime/device"
)

// Ring is how many units can be in flight.
const Ring = ring

// InFlight counts a runner's units that are committed and not yet waited for.
func InFlight(r device.Runner) int { return r.(*runner).units.InFlight() }

// SetPatience says how long a runner's Close waits for its archive.
func SetPatience(d time.Duration) { patience = d }

// Stale is the age at which an archive that is not finished is removed.
const Stale = stale

// Compile says what would be compiled of a bundle for some functions.
var Compile = compilation
