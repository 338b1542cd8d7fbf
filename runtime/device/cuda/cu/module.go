package cu

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"
)

// Module is loaded code.
type Module struct{ handle handle }

// Kernel is an entry of a module.
type Kernel struct {
	handle  handle
	dynamic uint32 // bytes of shared memory that each launch asks for
}

// The values of CUjit_option that LoadPTX sets.
const (
	jitErrorLog     = 5 // address of a buffer
	jitErrorLogSize = 6 // its size in bytes, as a pointer-sized value
)

// logBytes holds what the driver's compiler says about wrong code.
const logBytes = 16 << 10

// LoadPTX compiles a module for the device, or takes it from the driver's cache
// of compiled code. An error has the compiler's log.
func LoadPTX(text string) (m Module, err error) {
	image := append([]byte(text), 0)
	log := make([]byte, logBytes)
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), logBytes}
	var pins runtime.Pinner // values holds an address that the collector does not see
	pins.Pin(&log[0])
	defer pins.Unpin()
	err = check("cuModuleLoadDataEx", api.loadModule(&m.handle, unsafe.Pointer(&image[0]), uint32(len(options)), unsafe.Pointer(&options[0]), unsafe.Pointer(&values[0])))
	if said, _, _ := bytes.Cut(log, []byte{0}); err != nil && len(said) > 0 {
		err = fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said))
	}
	return m, err
}

// Unload frees the module and its kernels.
func (m Module) Unload() error {
	if m.handle == 0 {
		return nil
	}
	return check("cuModuleUnload", api.unloadModule(m.handle))
}

// Kernel finds an entry.
func (m Module) Kernel(name string) (k Kernel, err error) {
	err = check("cuModuleGetFunction", api.function(&k.handle, m.handle, name))
	return k, err
}

// The values of CUfunction_attribute.
const (
	attrMaxThreads = 0
	attrShared     = 1
	attrLocal      = 3
	attrRegisters  = 4
	attrMaxDynamic = 8 // MAX_DYNAMIC_SHARED_SIZE_BYTES
)

// Resources are what a kernel takes.
type Resources struct {
	MaxThreads int // the most threads per block that the device can launch
	Shared     int // static shared memory, bytes per block
	Local      int // bytes per thread that did not fit registers
	Registers  int // per thread
}

// Resources asks the driver what the compiled kernel takes.
func (k Kernel) Resources() (r Resources, err error) {
	for _, ask := range []struct {
		attribute int32
		to        *int
	}{{attrMaxThreads, &r.MaxThreads}, {attrShared, &r.Shared}, {attrLocal, &r.Local}, {attrRegisters, &r.Registers}} {
		var v int32
		if err := check("cuFuncGetAttribute", api.funcAttr(&v, ask.attribute, k.handle)); err != nil {
			return r, err
		}
		*ask.to = int(v)
	}
	return r, nil
}

// SetDynamic gives each block of the kernel a given number of bytes of shared memory besides what it
// declares with a size. Launches that are recorded afterwards ask for them.
func (k *Kernel) SetDynamic(bytes int) error {
	k.dynamic = uint32(bytes)
	return check("cuFuncSetAttribute", api.setFuncAttr(k.handle, attrMaxDynamic, int32(bytes)))
}
