package cu

// Type is the C type of an argument, as cuda.h spells it on a 64-bit system.
type Type string

// The types that the table uses.
const (
	Int         Type = "int"
	UInt64      Type = "unsigned long long"
	UInt        Type = "unsigned int"
	UChar       Type = "unsigned char"
	SizeT       Type = "size_t"
	DevicePtr   Type = "CUdeviceptr"      // an address in device memory
	Handle      Type = "CUhandle"         // CUcontext, CUmodule, CUstream, …: an opaque pointer
	String      Type = "const char *"     // ends with a zero
	In          Type = "const void *"     // read
	Out         Type = "void *"           // written
	HostAddress Type = "host"             // memory that a copy touches after the call has returned
	Strings     Type = "const char **"    // where a string's address is written
	Ints        Type = "int *"            // where one int is written
	Sizes       Type = "size_t *"         // where one size is written
	Floats      Type = "float *"          // where one float is written
	DevicePtrs  Type = "CUdeviceptr *"    // where one address is written
	Handles     Type = "CUhandle *"       // where one handle is written
	Nodes       Type = "const CUhandle *" // as many as the size that follows says
)

// Function is one function of the driver: the contract between this package,
// cuda.h, and whatever stands in for the driver. All return a CUresult.
type Function struct {
	Name string // as exported: with the version suffix that cuda.h hides
	Args []Type
	// Since is the first CUDA version whose driver exports it, as
	// cuDriverGetVersion gives it: 1000·major + 10·minor.
	Since int
}

// MinDriver is the oldest driver that has all functions of the table, as
// cuDriverGetVersion gives it.
const MinDriver = 12030

// Functions lists every function that the runtime calls.
var Functions = []Function{
	{"cuGetErrorName", []Type{Int, Strings}, 6000},
	{"cuGetErrorString", []Type{Int, Strings}, 6000},
	{"cuInit", []Type{UInt}, 2000},
	{"cuDriverGetVersion", []Type{Ints}, 2020},
	{"cuDeviceGetCount", []Type{Ints}, 2000},
	{"cuDeviceGet", []Type{Ints, Int}, 2000},
	{"cuDeviceGetName", []Type{Out, Int, Int}, 2000},
	{"cuDeviceTotalMem_v2", []Type{Sizes, Int}, 3020},
	{"cuDeviceGetAttribute", []Type{Ints, Int, Int}, 2000},

	{"cuDevicePrimaryCtxRetain", []Type{Handles, Int}, 7000},
	{"cuDevicePrimaryCtxRelease_v2", []Type{Int}, 11000},
	{"cuCtxSetCurrent", []Type{Handle}, 4000},

	{"cuMemGetInfo_v2", []Type{Sizes, Sizes}, 3020},
	{"cuMemAlloc_v2", []Type{DevicePtrs, SizeT}, 3020},
	{"cuMemFree_v2", []Type{DevicePtr}, 3020},
	{"cuMemHostAlloc", []Type{Handles, SizeT, UInt}, 2020},
	{"cuMemHostGetDevicePointer_v2", []Type{DevicePtrs, HostAddress, UInt}, 3020},
	{"cuMemFreeHost", []Type{HostAddress}, 2000},
	{"cuMemcpyHtoDAsync_v2", []Type{DevicePtr, HostAddress, SizeT, Handle}, 3020},
	{"cuMemcpyDtoHAsync_v2", []Type{HostAddress, DevicePtr, SizeT, Handle}, 3020},
	{"cuMemcpyDtoDAsync_v2", []Type{DevicePtr, DevicePtr, SizeT, Handle}, 3020},
	{"cuMemsetD8Async", []Type{DevicePtr, UChar, SizeT, Handle}, 3020},

	// Image, options and their values; on failure the log says why.
	{"cuModuleLoadDataEx", []Type{Handles, In, UInt, In, Out}, 2010},
	{"cuModuleUnload", []Type{Handle}, 2000},
	{"cuModuleGetFunction", []Type{Handles, Handle, String}, 2000},
	{"cuFuncGetAttribute", []Type{Ints, Int, Handle}, 2020},
	{"cuFuncSetAttribute", []Type{Handle, Int, Int}, 9000},

	{"cuStreamCreate", []Type{Handles, UInt}, 2000},
	{"cuStreamDestroy_v2", []Type{Handle}, 4000},
	{"cuStreamSynchronize", []Type{Handle}, 2000},
	{"cuStreamWaitEvent", []Type{Handle, Handle, UInt}, 3020},
	{"cuEventCreate", []Type{Handles, UInt}, 2000},
	{"cuEventDestroy_v2", []Type{Handle}, 4000},
	{"cuEventRecord", []Type{Handle, Handle}, 2000},
	{"cuEventSynchronize", []Type{Handle}, 2000},
	{"cuEventElapsedTime", []Type{Floats, Handle, Handle}, 2000},

	{"cuGraphCreate", []Type{Handles, UInt}, 10000},
	{"cuGraphDestroy", []Type{Handle}, 10000},
	// The node, the graph, what it depends on, its parameters (CUDA_KERNEL_NODE_PARAMS_v2).
	{"cuGraphAddKernelNode_v2", []Type{Handles, Handle, Nodes, SizeT, In}, 12000},
	// The graph, first nodes, second nodes, a CUgraphEdgeData for each pair, their number.
	{"cuGraphAddDependencies_v2", []Type{Handle, Nodes, Nodes, In, SizeT}, 12030},
	{"cuGraphInstantiateWithFlags", []Type{Handles, Handle, UInt64}, 11040},
	{"cuGraphExecDestroy", []Type{Handle}, 10000},
	{"cuGraphLaunch", []Type{Handle, Handle}, 10000},
}
