package cu

import (
	"bytes"
	"fmt"
	"unsafe"
)

// Properties is the properties of a device and its driver.
type Properties struct {
	Name            string
	Driver          int    // newest CUDA version that the driver supports, see Version
	Memory          uint64 // bytes
	Major, Minor    int    // compute capability
	Multiprocessors int
	L2              int64 // bytes of level-2 cache
	BlockMemory     int   // most bytes of shared memory per block, for kernels that opt in
}

// Values of CUdevice_attribute that Inspect asks for.
const (
	attrMultiprocessors = 16
	attrL2              = 38
	attrMajor           = 75
	attrMinor           = 76
	attrBlockMemory     = 97 // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
)

// Devices is the number of devices that the process may use.
func Devices() (int, error) {
	var n int32
	err := check("cuDeviceGetCount", api.deviceCount(&n))
	return int(n), err
}

// Inspect returns the i-th device and its properties.
func Inspect(i int) (device Device, p Properties, err error) {
	var d int32
	if err := check("cuDeviceGet", api.deviceGet(&d, int32(i))); err != nil {
		return 0, p, err
	}
	if p.Driver, err = driverVersion(); err != nil {
		return 0, p, err
	}
	name := make([]byte, 256)
	if err := check("cuDeviceGetName", api.deviceName(unsafe.Pointer(&name[0]), int32(len(name)), Device(d))); err != nil {
		return 0, p, err
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	p.Name = string(name)
	if err := check("cuDeviceTotalMem_v2", api.totalMemory(&p.Memory, Device(d))); err != nil {
		return 0, p, err
	}
	var values [5]int32
	for i, attribute := range []int32{attrMultiprocessors, attrL2, attrMajor, attrMinor, attrBlockMemory} {
		if err := check("cuDeviceGetAttribute", api.attribute(&values[i], attribute, Device(d))); err != nil {
			return 0, p, fmt.Errorf("attribute %d: %w", attribute, err)
		}
	}
	p.Multiprocessors, p.L2, p.Major, p.Minor, p.BlockMemory = int(values[0]), int64(values[1]), int(values[2]), int(values[3]), int(values[4])
	return Device(d), p, nil
}
