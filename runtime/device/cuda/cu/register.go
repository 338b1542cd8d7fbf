package cu

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Device is the number of a device.
type Device int32

// Ptr is an address in device memory.
type Ptr uint64

// Handles of the driver's objects; 0 is none.
type (
	handle uintptr
	// hostAddress is an address of host memory that the driver has allocated, which the garbage collector
	// does not manage.
	hostAddress uintptr
)

// result is a CUresult; 0 is success.
type result int32

// api is the driver's functions, filled by register.
var api struct {
	errorName   func(result, *uintptr) result `cu:"cuGetErrorName"`
	errorString func(result, *uintptr) result `cu:"cuGetErrorString"`

	initialise  func(uint32) result                        `cu:"cuInit"`
	version     func(*int32) result                        `cu:"cuDriverGetVersion"`
	deviceCount func(*int32) result                        `cu:"cuDeviceGetCount"`
	deviceGet   func(*int32, int32) result                 `cu:"cuDeviceGet"`
	deviceName  func(unsafe.Pointer, int32, Device) result `cu:"cuDeviceGetName"`
	totalMemory func(*uint64, Device) result               `cu:"cuDeviceTotalMem_v2"`
	attribute   func(*int32, int32, Device) result         `cu:"cuDeviceGetAttribute"`

	retain     func(*handle, Device) result `cu:"cuDevicePrimaryCtxRetain"`
	release    func(Device) result          `cu:"cuDevicePrimaryCtxRelease_v2"`
	setCurrent func(handle) result          `cu:"cuCtxSetCurrent"`

	memoryInfo func(free, total *uint64) result                           `cu:"cuMemGetInfo_v2"`
	alloc      func(*Ptr, uint64) result                                  `cu:"cuMemAlloc_v2"`
	free       func(Ptr) result                                           `cu:"cuMemFree_v2"`
	hostAlloc  func(*handle, uint64, uint32) result                       `cu:"cuMemHostAlloc"`
	mappedAt   func(*Ptr, hostAddress, uint32) result                     `cu:"cuMemHostGetDevicePointer_v2"`
	hostFree   func(hostAddress) result                                   `cu:"cuMemFreeHost"`
	toDevice   func(Ptr, hostAddress, uint64, handle) result              `cu:"cuMemcpyHtoDAsync_v2"`
	toHost     func(hostAddress, Ptr, uint64, handle) result              `cu:"cuMemcpyDtoHAsync_v2"`
	copy       func(dst, src Ptr, bytes uint64, stream handle) result     `cu:"cuMemcpyDtoDAsync_v2"`
	set        func(dst Ptr, v uint8, bytes uint64, stream handle) result `cu:"cuMemsetD8Async"`

	loadModule   func(*handle, unsafe.Pointer, uint32, unsafe.Pointer, unsafe.Pointer) result `cu:"cuModuleLoadDataEx"`
	unloadModule func(handle) result                                                          `cu:"cuModuleUnload"`
	function     func(*handle, handle, string) result                                         `cu:"cuModuleGetFunction"`
	funcAttr     func(*int32, int32, handle) result                                           `cu:"cuFuncGetAttribute"`
	setFuncAttr  func(k handle, attribute, value int32) result                                `cu:"cuFuncSetAttribute"`

	streamCreate  func(*handle, uint32) result                    `cu:"cuStreamCreate"`
	streamDestroy func(handle) result                             `cu:"cuStreamDestroy_v2"`
	streamWait    func(handle) result                             `cu:"cuStreamSynchronize"`
	streamAfter   func(stream, event handle, flags uint32) result `cu:"cuStreamWaitEvent"`
	eventCreate   func(*handle, uint32) result                    `cu:"cuEventCreate"`
	eventDestroy  func(handle) result                             `cu:"cuEventDestroy_v2"`
	eventRecord   func(event, stream handle) result               `cu:"cuEventRecord"`
	eventWait     func(handle) result                             `cu:"cuEventSynchronize"`
	eventElapsed  func(ms *float32, a, b handle) result           `cu:"cuEventElapsedTime"`

	graphCreate  func(*handle, uint32) result                                                     `cu:"cuGraphCreate"`
	graphDestroy func(handle) result                                                              `cu:"cuGraphDestroy"`
	addKernel    func(*handle, handle, nodeList, uint64, unsafe.Pointer) result                   `cu:"cuGraphAddKernelNode_v2"`
	addEdges     func(graph handle, from, to nodeList, edges unsafe.Pointer, count uint64) result `cu:"cuGraphAddDependencies_v2"`
	instantiate  func(*handle, handle, uint64) result                                             `cu:"cuGraphInstantiateWithFlags"`
	execDestroy  func(handle) result                                                              `cu:"cuGraphExecDestroy"`
	launch       func(exec, stream handle) result                                                 `cu:"cuGraphLaunch"`
}

// nodeList points to the first of several consecutive nodes.
type nodeList *handle

// types maps a Go type to the C types that it may represent.
var types = map[reflect.Type][]Type{
	reflect.TypeFor[result]():         {Int},
	reflect.TypeFor[int32]():          {Int},
	reflect.TypeFor[Device]():         {Int},
	reflect.TypeFor[uint32]():         {UInt},
	reflect.TypeFor[uint8]():          {UChar},
	reflect.TypeFor[uint64]():         {SizeT, UInt64},
	reflect.TypeFor[Ptr]():            {DevicePtr},
	reflect.TypeFor[handle]():         {Handle},
	reflect.TypeFor[hostAddress]():    {HostAddress},
	reflect.TypeFor[string]():         {String},
	reflect.TypeFor[unsafe.Pointer](): {In, Out},
	reflect.TypeFor[*uintptr]():       {Strings},
	reflect.TypeFor[*int32]():         {Ints},
	reflect.TypeFor[*uint64]():        {Sizes},
	reflect.TypeFor[*float32]():       {Floats},
	reflect.TypeFor[*Ptr]():           {DevicePtrs},
	reflect.TypeFor[*handle]():        {Handles},
	reflect.TypeFor[nodeList]():       {Nodes},
}

// declared yields the declared functions with their C names.
func declared(yield func(name string, f reflect.Value) bool) {
	v := reflect.ValueOf(&api).Elem()
	for i := range v.NumField() {
		// The fields are unexported. A pointer to each allows writing to them through reflect.
		field := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer())
		if !yield(v.Type().Field(i).Tag.Get("cu"), field) {
			return
		}
	}
}

// row returns a function's row of the table.
func row(name string) (*Function, error) {
	i := slices.IndexFunc(Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("function %q is not in the table", name)
	}
	return &Functions[i], nil
}

// check compares the type of a Go function with the row.
func (f *Function) check(t reflect.Type) error {
	ok := t.NumIn() == len(f.Args) && t.NumOut() == 1 && t.Out(0) == reflect.TypeFor[result]()
	for i := 0; ok && i < len(f.Args); i++ {
		ok = slices.Contains(types[t.In(i)], f.Args[i])
	}
	if !ok {
		return fmt.Errorf("function %s is declared as %v; the table has %q", f.Name, t, f.Args)
	}
	return nil
}

// register fills api. Functions whose symbols are missing stay nil; it returns their names.
func register(symbol func(name string) uintptr) (missing []string, err error) {
	for name, f := range declared {
		r, err := row(name)
		if err != nil {
			return nil, err
		}
		if err := r.check(f.Type().Elem()); err != nil {
			return nil, err
		}
		if address := symbol(name); address != 0 {
			purego.RegisterFunc(f.Interface(), address)
		} else {
			missing = append(missing, name)
		}
	}
	return missing, nil
}
