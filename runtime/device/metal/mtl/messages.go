package mtl

import "unsafe"

// ID is an Objective-C object or class; 0 is nil.
type ID uintptr

// SEL is a registered selector.
type SEL uintptr

// idList points to the first of several IDs.
type idList *ID

// GridSize is an MTLSize: threadgroups in a grid or threads in a threadgroup.
type GridSize struct{ Width, Height, Depth uint64 }

// span is an NSRange.
type span struct{ location, length uint64 }

// osVersion is an NSOperatingSystemVersion: major, minor and patch.
type osVersion struct{ major, _, _ int64 }

// messages declares every message that the package sends. The tag is class and selector; the type parameters
// are the arguments and, except for do messages, the result. Load fills it; see register.go.
var messages struct {
	retain     get0[ID]              `objc:"NSObject -retain"`
	release    do0                   `objc:"NSObject -release"`
	respondsTo get1[SEL, bool]       `objc:"NSObject -respondsToSelector:"`
	conformsTo get1[ID, bool]        `objc:"NSObject -conformsToProtocol:"`
	newString  make1[string]         `objc:"NSString +stringWithUTF8String:"`
	utf8       get0[string]          `objc:"NSString -UTF8String"`
	fileURL    make1[ID]             `objc:"NSURL +fileURLWithPath:"`
	arrayOf    make1[ID]             `objc:"NSArray +arrayWithObject:"`
	errorText  get0[ID]              `objc:"NSError -localizedDescription"`
	errorCode  get0[int64]           `objc:"NSError -code"`
	process    make0                 `objc:"NSProcessInfo +processInfo"`
	osAtLeast  get1[osVersion, bool] `objc:"NSProcessInfo -isOperatingSystemAtLeastVersion:"`

	deviceName        get0[ID]                                     `objc:"MTLDevice -name"`
	maxBufferLength   get0[uint64]                                 `objc:"MTLDevice -maxBufferLength"`
	maxWorkingSet     get0[uint64]                                 `objc:"MTLDevice -recommendedMaxWorkingSetSize"`
	maxThreadgroupMem get0[uint64]                                 `objc:"MTLDevice -maxThreadgroupMemoryLength"`
	unifiedMemory     get0[bool]                                   `objc:"MTLDevice -hasUnifiedMemory"`
	supportsFamily    get1[int64, bool]                            `objc:"MTLDevice -supportsFamily:"`
	newQueue          get0[ID]                                     `objc:"MTLDevice -newCommandQueue"`
	newBuffer         get2[uint64, uint64, ID]                     `objc:"MTLDevice -newBufferWithLength:options:"`
	newBufferNoCopy   get4[unsafe.Pointer, uint64, uint64, ID, ID] `objc:"MTLDevice -newBufferWithBytesNoCopy:length:options:deallocator:"`
	newLibrarySource  get3[ID, ID, *ID, ID]                        `objc:"MTLDevice -newLibraryWithSource:options:error:"`
	newLibraryURL     get2[ID, *ID, ID]                            `objc:"MTLDevice -newLibraryWithURL:error:"`
	newPipeline       get4[ID, uint64, unsafe.Pointer, *ID, ID]    `objc:"MTLDevice -newComputePipelineStateWithDescriptor:options:reflection:error:"`
	newIndirect       get3[ID, uint64, uint64, ID]                 `objc:"MTLDevice -newIndirectCommandBufferWithDescriptor:maxCommandCount:options:"`
	newResidencySet   get2[ID, *ID, ID]                            `objc:"MTLDevice -newResidencySetWithDescriptor:error:"`
	newArchive        get2[ID, *ID, ID]                            `objc:"MTLDevice -newBinaryArchiveWithDescriptor:error:"`

	newCompileOptions make0        `objc:"MTLCompileOptions +new"`
	languageVersion   do1[uint64]  `objc:"MTLCompileOptions -setLanguageVersion:"`
	fastMath          do1[bool]    `objc:"MTLCompileOptions -setFastMathEnabled:"`
	mathMode          do1[int64]   `objc:"MTLCompileOptions -setMathMode:"`
	mathFunctions     do1[int64]   `objc:"MTLCompileOptions -setMathFloatingPointFunctions:"`
	newFunction       get1[ID, ID] `objc:"MTLLibrary -newFunctionWithName:"`

	newPipelineDescriptor make0        `objc:"MTLComputePipelineDescriptor +new"`
	computeFunction       do1[ID]      `objc:"MTLComputePipelineDescriptor -setComputeFunction:"`
	pipelineLabel         do1[ID]      `objc:"MTLComputePipelineDescriptor -setLabel:"`
	supportIndirect       do1[bool]    `objc:"MTLComputePipelineDescriptor -setSupportIndirectCommandBuffers:"`
	persistentKernel      do1[bool]    `objc:"MTLComputePipelineDescriptor -setOptimizeForPersistentKernel:"`
	binaryArchives        do1[ID]      `objc:"MTLComputePipelineDescriptor -setBinaryArchives:"`
	maxThreads            get0[uint64] `objc:"MTLComputePipelineState -maxTotalThreadsPerThreadgroup"`
	executionWidth        get0[uint64] `objc:"MTLComputePipelineState -threadExecutionWidth"`
	threadgroupMem        get0[uint64] `objc:"MTLComputePipelineState -staticThreadgroupMemoryLength"`

	persistentThreadgroups get1[GridSize, uint64] `objc:"MTLComputePipelineState -recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:"`

	newArchiveDescriptor make0               `objc:"MTLBinaryArchiveDescriptor +new"`
	archiveURL           do1[ID]             `objc:"MTLBinaryArchiveDescriptor -setUrl:"`
	archiveAdd           get2[ID, *ID, bool] `objc:"MTLBinaryArchive -addComputePipelineFunctionsWithDescriptor:error:"`
	archiveSerialize     get2[ID, *ID, bool] `objc:"MTLBinaryArchive -serializeToURL:error:"`

	contents    get0[unsafe.Pointer] `objc:"MTLBuffer -contents"`
	bufferLabel do1[ID]              `objc:"MTLBuffer -setLabel:"`

	newIndirectDescriptor make0                   `objc:"MTLIndirectCommandBufferDescriptor +new"`
	commandTypes          do1[uint64]             `objc:"MTLIndirectCommandBufferDescriptor -setCommandTypes:"`
	inheritBuffers        do1[bool]               `objc:"MTLIndirectCommandBufferDescriptor -setInheritBuffers:"`
	inheritPipeline       do1[bool]               `objc:"MTLIndirectCommandBufferDescriptor -setInheritPipelineState:"`
	maxBindCount          do1[uint64]             `objc:"MTLIndirectCommandBufferDescriptor -setMaxKernelBufferBindCount:"`
	commandAt             get1[uint64, ID]        `objc:"MTLIndirectCommandBuffer -indirectComputeCommandAtIndex:"`
	commandPipeline       do1[ID]                 `objc:"MTLIndirectComputeCommand -setComputePipelineState:"`
	commandBuffer         do3[ID, uint64, uint64] `objc:"MTLIndirectComputeCommand -setKernelBuffer:offset:atIndex:"`
	commandBarrier        do0                     `objc:"MTLIndirectComputeCommand -setBarrier"`
	commandDispatch       do2[GridSize, GridSize] `objc:"MTLIndirectComputeCommand -concurrentDispatchThreadgroups:threadsPerThreadgroup:"`

	newResidencyDescriptor make0       `objc:"MTLResidencySetDescriptor +new"`
	initialCapacity        do1[uint64] `objc:"MTLResidencySetDescriptor -setInitialCapacity:"`
	addAllocation          do1[ID]     `objc:"MTLResidencySet -addAllocation:"`
	residencyCommit        do0         `objc:"MTLResidencySet -commit"`
	requestResidency       do0         `objc:"MTLResidencySet -requestResidency"`
	endResidency           do0         `objc:"MTLResidencySet -endResidency"`

	queueCommands        get0[ID] `objc:"MTLCommandQueue -commandBuffer"`
	queueAddResidency    do1[ID]  `objc:"MTLCommandQueue -addResidencySet:"`
	queueRemoveResidency do1[ID]  `objc:"MTLCommandQueue -removeResidencySet:"`

	newEncoder get1[uint64, ID] `objc:"MTLCommandBuffer -computeCommandEncoderWithDispatchType:"`
	commit     do0              `objc:"MTLCommandBuffer -commit"`
	wait       do0              `objc:"MTLCommandBuffer -waitUntilCompleted"`
	status     get0[uint64]     `objc:"MTLCommandBuffer -status"`
	failure    get0[ID]         `objc:"MTLCommandBuffer -error"`
	gpuStart   get0[float64]    `objc:"MTLCommandBuffer -GPUStartTime"`
	gpuEnd     get0[float64]    `objc:"MTLCommandBuffer -GPUEndTime"`

	setPipeline  do1[ID]                     `objc:"MTLComputeCommandEncoder -setComputePipelineState:"`
	setBuffer    do3[ID, uint64, uint64]     `objc:"MTLComputeCommandEncoder -setBuffer:offset:atIndex:"`
	dispatch     do2[GridSize, GridSize]     `objc:"MTLComputeCommandEncoder -dispatchThreadgroups:threadsPerThreadgroup:"`
	barrier      do1[uint64]                 `objc:"MTLComputeCommandEncoder -memoryBarrierWithScope:"`
	useResources do3[idList, uint64, uint64] `objc:"MTLComputeCommandEncoder -useResources:count:usage:"`
	execute      do2[ID, span]               `objc:"MTLComputeCommandEncoder -executeCommandsInBuffer:withRange:"`
	endEncoding  do0                         `objc:"MTLComputeCommandEncoder -endEncoding"`
}
