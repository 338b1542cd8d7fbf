package cu

// Type is the C type of an argument, as cuda.h spells it on a 64-bit system.
type Type string

// Types of the table.
const (
	Int         Type = "int"
	UInt64      Type = "unsigned long long"
	UInt        Type = "unsigned int"
	UChar       Type = "unsigned char"
	SizeT       Type = "size_t"
	DevicePtr   Type = "CUdeviceptr"      // an address in device memory
	Handle      Type = "CUhandle"         // CUcontext, CUmodule, CUstream, …: an opaque pointer
	String      Type = "const char *"     // null-terminated
	In          Type = "const void *"     // the function reads the memory
	Out         Type = "void *"           // the function writes the memory
	HostAddress Type = "host"             // memory that a copy uses after the call has returned
	Strings     Type = "const char **"    // the address of a string is written there
	Ints        Type = "int *"            // one int is written there
	Sizes       Type = "size_t *"         // one size is written there
	Floats      Type = "float *"          // one float is written there
	DevicePtrs  Type = "CUdeviceptr *"    // one address is written there
	Handles     Type = "CUhandle *"       // one handle is written there
	Nodes       Type = "const CUhandle *" // their number is the next argument
)

// Function is one function of the driver. The table is the contract between this package, cuda.h, and
// replacements of the driver. All functions return a CUresult.
type Function struct {
	Name string // as exported, with the version suffix that cuda.h hides
	Args []Type
	// Since is the first CUDA version whose driver exports the function, in the form of cuDriverGetVersion:
	// 1000·major + 10·minor.
	Since int
}

// MinDriver is the oldest driver with all functions of the table, in the form of cuDriverGetVersion.
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

	// Image, options and their values. After a failure the log has the reason.
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
	// The node, the graph, its dependencies, its parameters (CUDA_KERNEL_NODE_PARAMS_v2).
	{"cuGraphAddKernelNode_v2", []Type{Handles, Handle, Nodes, SizeT, In}, 12000},
	// The graph, first nodes, second nodes, a CUgraphEdgeData for each pair, the number of pairs.
	{"cuGraphAddDependencies_v2", []Type{Handle, Nodes, Nodes, In, SizeT}, 12030},
	{"cuGraphInstantiateWithFlags", []Type{Handles, Handle, UInt64}, 11040},
	{"cuGraphExecDestroy", []Type{Handle}, 10000},
	{"cuGraphLaunch", []Type{Handle, Handle}, 10000},
}
