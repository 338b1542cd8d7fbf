package cu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
)

// DriverLibrary is the driver's library on Linux.
const DriverLibrary = "libcuda.so.1"

// ErrNoDriver says that there is no driver on this system.
var ErrNoDriver = errors.New("no NVIDIA driver: the CUDA device needs one of version 545 or later (CUDA 12.3), which brings " + DriverLibrary)

var loading struct {
	sync.Mutex
	done    bool
	library string
	failed  error // a failed registration cannot be repeated
}

// Load opens the driver's library, or the named one if it is not "", and initialises it. Later calls with the
// same library do nothing. On a system without a driver it returns [ErrNoDriver].
func Load(library string) error {
	loading.Lock()
	defer loading.Unlock()
	switch {
	case loading.done && loading.library != library:
		return fmt.Errorf("the CUDA library is loaded from %q already; it cannot be loaded from %q too", loading.library, library)
	case loading.done:
		return loading.failed
	}
	path := library
	if path == "" {
		path = DriverLibrary
	}
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil && library == "" {
		return fmt.Errorf("%w (%w)", ErrNoDriver, err)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	loading.done, loading.library = true, library
	loading.failed = start(h)
	return loading.failed
}

// start resolves the functions and initialises the driver.
func start(library uintptr) error {
	missing, err := register(func(name string) uintptr {
		address, err := purego.Dlsym(library, name)
		if err != nil {
			return 0
		}
		return address
	})
	if err != nil {
		return err
	}
	version, err := driverVersion()
	if err != nil {
		return err
	}
	if version < MinDriver {
		return fmt.Errorf("the NVIDIA driver is for CUDA %s; the CUDA device needs a driver for CUDA %s (545 or later)", Version(version), Version(MinDriver))
	}
	if len(missing) > 0 {
		return fmt.Errorf("the NVIDIA driver for CUDA %s lacks %s", Version(version), strings.Join(missing, ", "))
	}
	return check("cuInit", api.initialise(0))
}

// driverVersion is the newest CUDA version that the driver supports. Drivers report it before initialisation,
// too.
func driverVersion() (int, error) {
	if api.version == nil || api.errorName == nil || api.errorString == nil {
		return 0, errors.New("the library is no NVIDIA driver: it lacks cuDriverGetVersion")
	}
	var v int32
	err := check("cuDriverGetVersion", api.version(&v))
	return int(v), err
}

// Version formats a version of cuDriverGetVersion: 12080 is 12.8.
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
