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
	dynamic uint32 // bytes of dynamic shared memory that each launch asks for
}

// Values of CUjit_option that LoadPTX sets.
const (
	jitErrorLog     = 5 // address of a buffer
	jitErrorLogSize = 6 // its size in bytes, as a pointer-sized value
)

// logBytes is the size of the buffer for the messages of the driver's compiler.
const logBytes = 16 << 10

// LoadPTX compiles a module for the device, or takes it from the driver's cache of compiled code. An error
// contains the compiler's log.
func LoadPTX(text string) (m Module, err error) {
	image := append([]byte(text), 0)
	log := make([]byte, logBytes)
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), logBytes}
	var pins runtime.Pinner // values holds an address that the garbage collector does not see
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

// Kernel returns an entry of the module.
func (m Module) Kernel(name string) (k Kernel, err error) {
	err = check("cuModuleGetFunction", api.function(&k.handle, m.handle, name))
	return k, err
}

// Values of CUfunction_attribute.
const (
	attrMaxThreads = 0
	attrShared     = 1
	attrLocal      = 3
	attrRegisters  = 4
	attrMaxDynamic = 8 // MAX_DYNAMIC_SHARED_SIZE_BYTES
)

// Resources is the resources that a kernel uses.
type Resources struct {
	MaxThreads int // the most threads per block that the device can launch
	Shared     int // static shared memory, bytes per block
	Local      int // bytes per thread in local memory, for lack of registers
	Registers  int // per thread
}

// Resources asks the driver for the resources of the compiled kernel.
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

// SetDynamic sets the dynamic shared memory of a block in bytes, beside the kernel's static one. Launches
// that are recorded later ask for it.
func (k *Kernel) SetDynamic(bytes int) error {
	k.dynamic = uint32(bytes)
	return check("cuFuncSetAttribute", api.setFuncAttr(k.handle, attrMaxDynamic, int32(bytes)))
}
