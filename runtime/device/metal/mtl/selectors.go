package mtl

import "strings"

// Type is the Objective-C type encoding of an argument or a result, as @encode returns it on a 64-bit Apple
// system.
type Type string

// Types of the table.
const (
	Void    Type = "v"
	Object  Type = "@"                              // id; nil is 0
	Bool    Type = "B"                              // BOOL; only the low byte of a result counts
	UInt    Type = "Q"                              // NSUInteger and unsigned enumerations
	CInt    Type = "i"                              // int, of C functions
	Int     Type = "q"                              // NSInteger and signed enumerations
	Double  Type = "d"                              // CFTimeInterval, seconds
	CString Type = "*"                              // const char *, UTF-8, ends with a zero
	Pointer Type = "^v"                             // void *
	Sel     Type = ":"                              // SEL
	ErrorAt Type = "^@"                             // NSError **, written only on failure
	Objects Type = "r^@"                            // const id *, with a count in another argument
	Size    Type = "{MTLSize=QQQ}"                  // by value, 24 bytes
	Range   Type = "{_NSRange=QQ}"                  // by value, 16 bytes
	Version Type = "{NSOperatingSystemVersion=qqq}" // by value, 24 bytes
)

// Selector is one message that the runtime sends. The table is the contract between this package, Apple's
// headers, and replacement libraries on other systems.
type Selector struct {
	Class string // class or protocol that declares it
	// Name is the selector, after '-' for an instance method or '+' for a
	// class method.
	Name   string
	Args   []Type // after self and _cmd
	Return Type
	Since  string // first macOS version with the message
	Doc    string // path under https://developer.apple.com/documentation/
}

// Selector is the name without its sign.
func (s *Selector) Selector() string { return s.Name[1:] }

// ClassMethod says whether the receiver is the class itself.
func (s *Selector) ClassMethod() bool { return strings.HasPrefix(s.Name, "+") }

// Owned says whether the caller owns the result (+1) and must release it: selectors of the families new,
// alloc, copy and retain. Other objects are valid until the pool ends.
func (s *Selector) Owned() bool {
	if s.Return != Object {
		return false
	}
	name := s.Selector()
	return strings.HasPrefix(name, "new") || strings.HasPrefix(name, "alloc") || strings.HasPrefix(name, "copy") || name == "retain"
}

// Encoding is the method's type encoding without offsets, for example "@@:QQ".
func (s *Selector) Encoding() string {
	var b strings.Builder
	b.WriteString(string(s.Return) + "@:")
	for _, a := range s.Args {
		b.WriteString(string(a))
	}
	return b.String()
}

// Function is a C function of a framework or of the Objective-C runtime.
type Function struct {
	Name   string
	Args   []Type
	Return Type
	Doc    string
}

// Functions lists every C function that the runtime calls. objc_msgSend is called with the type of each
// message.
var Functions = []Function{
	{"objc_getClass", []Type{CString}, Object, "objectivec/objc_getclass(_:)"},
	// nil if the system does not know the protocol.
	{"objc_getProtocol", []Type{CString}, Object, "objectivec/objc_getprotocol(_:)"},
	{"sel_registerName", []Type{CString}, Sel, "objectivec/sel_registername(_:)"},
	{"objc_msgSend", nil, Void, "objectivec/objc_msgsend"},
	// The pool functions are documented by LLVM: pop takes the value of push.
	{"objc_autoreleasePoolPush", nil, Pointer, ""},
	{"objc_autoreleasePoolPop", []Type{Pointer}, Void, ""},
	// Reads a named value of the system: memory for it, the memory's length (size_t *), and no new value. 0
	// is success.
	{"sysctlbyname", []Type{CString, Pointer, Pointer, Pointer, UInt}, CInt, "kernel/1387446-sysctlbyname"},
	// The result is owned (+1); nil without a GPU or without CoreGraphics.
	{"MTLCreateSystemDefaultDevice", nil, Object, "metal/mtlcreatesystemdefaultdevice()"},
}

// Selectors lists every message that the runtime sends. Tests compare the Go declarations with it, and the
// simulator implements exactly these messages.
var Selectors = []Selector{
	{"NSObject", "-retain", nil, Object, "10.0", "objectivec/nsobjectprotocol/retain()"},
	{"NSObject", "-release", nil, Void, "10.0", "objectivec/nsobjectprotocol/release()"},
	{"NSObject", "-respondsToSelector:", []Type{Sel}, Bool, "10.0", "objectivec/nsobjectprotocol/responds(to:)"},
	{"NSObject", "-conformsToProtocol:", []Type{Object}, Bool, "10.0", "objectivec/nsobjectprotocol/conforms(to:)"},
	{"NSString", "+stringWithUTF8String:", []Type{CString}, Object, "10.0", "foundation/nsstring/stringwithutf8string:"},
	{"NSString", "-UTF8String", nil, CString, "10.0", "foundation/nsstring/utf8string"},
	{"NSURL", "+fileURLWithPath:", []Type{Object}, Object, "10.0", "foundation/nsurl/fileurlwithpath:"},
	{"NSArray", "+arrayWithObject:", []Type{Object}, Object, "10.0", "foundation/nsarray/arraywithobject:"},
	{"NSError", "-localizedDescription", nil, Object, "10.2", "foundation/nserror/localizeddescription"},
	{"NSError", "-code", nil, Int, "10.2", "foundation/nserror/code"},
	{"NSProcessInfo", "+processInfo", nil, Object, "10.0", "foundation/processinfo/processinfo"},
	{"NSProcessInfo", "-isOperatingSystemAtLeastVersion:", []Type{Version}, Bool, "10.10", "foundation/processinfo/isoperatingsystematleast(_:)"},

	{"MTLDevice", "-name", nil, Object, "10.11", "metal/mtldevice/name"},
	{"MTLDevice", "-maxBufferLength", nil, UInt, "10.14", "metal/mtldevice/maxbufferlength"},
	{"MTLDevice", "-recommendedMaxWorkingSetSize", nil, UInt, "10.12", "metal/mtldevice/recommendedmaxworkingsetsize"},
	{"MTLDevice", "-maxThreadgroupMemoryLength", nil, UInt, "10.13", "metal/mtldevice/maxthreadgroupmemorylength"},
	{"MTLDevice", "-hasUnifiedMemory", nil, Bool, "10.15", "metal/mtldevice/hasunifiedmemory"},
	{"MTLDevice", "-supportsFamily:", []Type{Int}, Bool, "10.15", "metal/mtldevice/supportsfamily(_:)"},
	{"MTLDevice", "-newCommandQueue", nil, Object, "10.11", "metal/mtldevice/makecommandqueue()"},
	{"MTLDevice", "-newBufferWithLength:options:", []Type{UInt, UInt}, Object, "10.11", "metal/mtldevice/makebuffer(length:options:)"},
	{"MTLDevice", "-newBufferWithBytesNoCopy:length:options:deallocator:", []Type{Pointer, UInt, UInt, Object}, Object, "10.11", "metal/mtldevice/makebuffer(bytesnocopy:length:options:deallocator:)"},
	{"MTLDevice", "-newLibraryWithSource:options:error:", []Type{Object, Object, ErrorAt}, Object, "10.11", "metal/mtldevice/makelibrary(source:options:)"},
	{"MTLDevice", "-newLibraryWithURL:error:", []Type{Object, ErrorAt}, Object, "10.13", "metal/mtldevice/makelibrary(url:)"},
	{"MTLDevice", "-newComputePipelineStateWithDescriptor:options:reflection:error:", []Type{Object, UInt, Pointer, ErrorAt}, Object, "10.11", "metal/mtldevice/makecomputepipelinestate(descriptor:options:reflection:)"},
	{"MTLDevice", "-newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", []Type{Object, UInt, UInt}, Object, "10.14", "metal/mtldevice/makeindirectcommandbuffer(descriptor:maxcommandcount:options:)"},
	{"MTLDevice", "-newResidencySetWithDescriptor:error:", []Type{Object, ErrorAt}, Object, "15.0", "metal/mtldevice/makeresidencyset(descriptor:)"},
	{"MTLDevice", "-newBinaryArchiveWithDescriptor:error:", []Type{Object, ErrorAt}, Object, "11.0", "metal/mtldevice/makebinaryarchive(descriptor:)"},

	{"MTLCompileOptions", "+new", nil, Object, "10.11", "metal/mtlcompileoptions"},
	{"MTLCompileOptions", "-setLanguageVersion:", []Type{UInt}, Void, "10.11", "metal/mtlcompileoptions/languageversion"},
	{"MTLCompileOptions", "-setFastMathEnabled:", []Type{Bool}, Void, "10.11", "metal/mtlcompileoptions/fastmathenabled"},
	{"MTLCompileOptions", "-setMathMode:", []Type{Int}, Void, "15.0", "metal/mtlcompileoptions/mathmode"},
	{"MTLCompileOptions", "-setMathFloatingPointFunctions:", []Type{Int}, Void, "15.0", "metal/mtlcompileoptions/mathfloatingpointfunctions"},

	{"MTLLibrary", "-newFunctionWithName:", []Type{Object}, Object, "10.11", "metal/mtllibrary/makefunction(name:)"},

	{"MTLComputePipelineDescriptor", "+new", nil, Object, "10.11", "metal/mtlcomputepipelinedescriptor"},
	{"MTLComputePipelineDescriptor", "-setComputeFunction:", []Type{Object}, Void, "10.11", "metal/mtlcomputepipelinedescriptor/computefunction"},
	{"MTLComputePipelineDescriptor", "-setLabel:", []Type{Object}, Void, "10.11", "metal/mtlcomputepipelinedescriptor/label"},
	{"MTLComputePipelineDescriptor", "-setSupportIndirectCommandBuffers:", []Type{Bool}, Void, "11.0", "metal/mtlcomputepipelinedescriptor/supportindirectcommandbuffers"},
	{"MTLComputePipelineDescriptor", "-setOptimizeForPersistentKernel:", []Type{Bool}, Void, "27.0", "metal/mtlcomputepipelinedescriptor/optimizeforpersistentkernel"},
	{"MTLComputePipelineDescriptor", "-setBinaryArchives:", []Type{Object}, Void, "11.0", "metal/mtlcomputepipelinedescriptor/binaryarchives"},

	{"MTLComputePipelineState", "-maxTotalThreadsPerThreadgroup", nil, UInt, "10.11", "metal/mtlcomputepipelinestate/maxtotalthreadsperthreadgroup"},
	{"MTLComputePipelineState", "-threadExecutionWidth", nil, UInt, "10.11", "metal/mtlcomputepipelinestate/threadexecutionwidth"},
	{"MTLComputePipelineState", "-staticThreadgroupMemoryLength", nil, UInt, "10.13", "metal/mtlcomputepipelinestate/staticthreadgroupmemorylength"},
	{"MTLComputePipelineState", "-recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:", []Type{Size}, UInt, "27.0", "metal/mtlcomputepipelinestate/recommendedpersistentthreadgroupspergrid(forthreadsperthreadgroup:)"},

	{"MTLBinaryArchiveDescriptor", "+new", nil, Object, "11.0", "metal/mtlbinaryarchivedescriptor"},
	{"MTLBinaryArchiveDescriptor", "-setUrl:", []Type{Object}, Void, "11.0", "metal/mtlbinaryarchivedescriptor/url"},
	{"MTLBinaryArchive", "-addComputePipelineFunctionsWithDescriptor:error:", []Type{Object, ErrorAt}, Bool, "11.0", "metal/mtlbinaryarchive/addcomputepipelinefunctions(descriptor:)"},
	{"MTLBinaryArchive", "-serializeToURL:error:", []Type{Object, ErrorAt}, Bool, "11.0", "metal/mtlbinaryarchive/serialize(to:)"},

	{"MTLBuffer", "-contents", nil, Pointer, "10.11", "metal/mtlbuffer/contents()"},
	{"MTLBuffer", "-setLabel:", []Type{Object}, Void, "10.11", "metal/mtlresource/label"},

	{"MTLIndirectCommandBufferDescriptor", "+new", nil, Object, "10.14", "metal/mtlindirectcommandbufferdescriptor"},
	{"MTLIndirectCommandBufferDescriptor", "-setCommandTypes:", []Type{UInt}, Void, "10.14", "metal/mtlindirectcommandbufferdescriptor/commandtypes"},
	{"MTLIndirectCommandBufferDescriptor", "-setInheritBuffers:", []Type{Bool}, Void, "10.14", "metal/mtlindirectcommandbufferdescriptor/inheritbuffers"},
	{"MTLIndirectCommandBufferDescriptor", "-setInheritPipelineState:", []Type{Bool}, Void, "10.14", "metal/mtlindirectcommandbufferdescriptor/inheritpipelinestate"},
	{"MTLIndirectCommandBufferDescriptor", "-setMaxKernelBufferBindCount:", []Type{UInt}, Void, "11.0", "metal/mtlindirectcommandbufferdescriptor/maxkernelbufferbindcount"},
	{"MTLIndirectCommandBuffer", "-indirectComputeCommandAtIndex:", []Type{UInt}, Object, "11.0", "metal/mtlindirectcommandbuffer/indirectcomputecommandat(_:)"},
	{"MTLIndirectComputeCommand", "-setComputePipelineState:", []Type{Object}, Void, "11.0", "metal/mtlindirectcomputecommand/setcomputepipelinestate(_:)"},
	{"MTLIndirectComputeCommand", "-setKernelBuffer:offset:atIndex:", []Type{Object, UInt, UInt}, Void, "11.0", "metal/mtlindirectcomputecommand/setkernelbuffer(_:offset:at:)"},
	{"MTLIndirectComputeCommand", "-setBarrier", nil, Void, "11.0", "metal/mtlindirectcomputecommand/setbarrier()"},
	{"MTLIndirectComputeCommand", "-concurrentDispatchThreadgroups:threadsPerThreadgroup:", []Type{Size, Size}, Void, "11.0", "metal/mtlindirectcomputecommand/concurrentdispatchthreadgroups(_:threadsperthreadgroup:)"},

	{"MTLResidencySetDescriptor", "+new", nil, Object, "15.0", "metal/mtlresidencysetdescriptor"},
	{"MTLResidencySetDescriptor", "-setInitialCapacity:", []Type{UInt}, Void, "15.0", "metal/mtlresidencysetdescriptor/initialcapacity"},
	// addAllocation: accepts objects that conform to the protocol MTLAllocation, and faults on any other.
	{"MTLResidencySet", "-addAllocation:", []Type{Object}, Void, "15.0", "metal/mtlresidencyset/addallocation(_:)"},
	{"MTLResidencySet", "-commit", nil, Void, "15.0", "metal/mtlresidencyset/commit()"},
	{"MTLResidencySet", "-requestResidency", nil, Void, "15.0", "metal/mtlresidencyset/requestresidency()"},
	{"MTLResidencySet", "-endResidency", nil, Void, "15.0", "metal/mtlresidencyset/endresidency()"},

	{"MTLCommandQueue", "-commandBuffer", nil, Object, "10.11", "metal/mtlcommandqueue/makecommandbuffer()"},
	{"MTLCommandQueue", "-addResidencySet:", []Type{Object}, Void, "15.0", "metal/mtlcommandqueue/addresidencyset(_:)"},
	{"MTLCommandQueue", "-removeResidencySet:", []Type{Object}, Void, "15.0", "metal/mtlcommandqueue/removeresidencyset(_:)"},

	{"MTLCommandBuffer", "-computeCommandEncoderWithDispatchType:", []Type{UInt}, Object, "10.14", "metal/mtlcommandbuffer/makecomputecommandencoder(dispatchtype:)"},
	{"MTLCommandBuffer", "-commit", nil, Void, "10.11", "metal/mtlcommandbuffer/commit()"},
	{"MTLCommandBuffer", "-waitUntilCompleted", nil, Void, "10.11", "metal/mtlcommandbuffer/waituntilcompleted()"},
	{"MTLCommandBuffer", "-status", nil, UInt, "10.11", "metal/mtlcommandbuffer/status"},
	{"MTLCommandBuffer", "-error", nil, Object, "10.11", "metal/mtlcommandbuffer/error"},
	{"MTLCommandBuffer", "-GPUStartTime", nil, Double, "10.15", "metal/mtlcommandbuffer/gpustarttime"},
	{"MTLCommandBuffer", "-GPUEndTime", nil, Double, "10.15", "metal/mtlcommandbuffer/gpuendtime"},

	{"MTLComputeCommandEncoder", "-setComputePipelineState:", []Type{Object}, Void, "10.11", "metal/mtlcomputecommandencoder/setcomputepipelinestate(_:)"},
	{"MTLComputeCommandEncoder", "-setBuffer:offset:atIndex:", []Type{Object, UInt, UInt}, Void, "10.11", "metal/mtlcomputecommandencoder/setbuffer(_:offset:index:)"},
	{"MTLComputeCommandEncoder", "-dispatchThreadgroups:threadsPerThreadgroup:", []Type{Size, Size}, Void, "10.11", "metal/mtlcomputecommandencoder/dispatchthreadgroups(_:threadsperthreadgroup:)"},
	{"MTLComputeCommandEncoder", "-memoryBarrierWithScope:", []Type{UInt}, Void, "10.14", "metal/mtlcomputecommandencoder/memorybarrier(scope:)"},
	{"MTLComputeCommandEncoder", "-useResources:count:usage:", []Type{Objects, UInt, UInt}, Void, "10.13", "metal/mtlcomputecommandencoder/useresources:count:usage:"},
	{"MTLComputeCommandEncoder", "-executeCommandsInBuffer:withRange:", []Type{Object, Range}, Void, "10.14", "metal/mtlcomputecommandencoder/executecommandsinbuffer(_:range:)"},
	{"MTLComputeCommandEncoder", "-endEncoding", nil, Void, "10.11", "metal/mtlcommandencoder/endencoding()"},
}
