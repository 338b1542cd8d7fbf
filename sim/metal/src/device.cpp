#include "device.h"

#include "config.h"
#include "duration.h"
#include "encoder.h"
#include "export.h"
#include "report.h"

namespace metalsim {
namespace {

Device *device = nullptr;  // the living one

}  // namespace

void Device::dealloc() {
  device = nullptr;
  if (!config().strict) return;
  const int n = report::leaks(true);
  REQUIRE(n == 0, Rule::Leak, "%d things when the device was released", n);
}

Object *Device::name() { return autoreleasedString(config().gpu->name); }
uint64_t Device::maxBufferLength() { return config().maxBuffer; }
uint64_t Device::recommendedMaxWorkingSetSize() { return config().workingSet; }
uint64_t Device::currentAllocatedSize() { return allocatedBytes(); }
uint64_t Device::maxThreadgroupMemoryLength() { return 32768; }
Size Device::maxThreadsPerThreadgroup() { return {1024, 1024, 1024}; }
bool Device::hasUnifiedMemory() { return config().gpu->unifiedMemory; }
bool Device::supportsFamily(int64_t family) { return metalsim::supportsFamily(*config().gpu, family, config().os); }

Object *Device::newCommandQueue() { return faultNow(Fault::Queue) ? nullptr : make<Queue>(); }

Object *Device::newBufferWithLength(uint64_t length, uint64_t options) { return newBuffer(length, options); }

Object *Device::newBufferWithBytesNoCopy(void *p, uint64_t length, uint64_t options, Object *deallocator) {
  return newBufferNoCopy(p, length, options, deallocator);
}

Object *Device::newLibraryWithSource(String *source, CompileOptions *options, Error **error) {
  return metalsim::newLibraryWithSource(source, options, error);
}

Object *Device::newLibraryWithUrl(Url *url, Error **error) { return metalsim::newLibraryWithUrl(url, error); }

Object *Device::newPipeline(PipelineDescriptor *d, uint64_t options, void *, Error **error) {
  return metalsim::newPipeline(d, options, error);
}

Object *Device::newIcb(IcbDescriptor *d, uint64_t count, uint64_t options) { return metalsim::newIcb(d, count, options); }

Object *Device::newResidencySet(ResidencySetDescriptor *d, Error **error) { return metalsim::newResidencySet(d, error); }

Object *Device::newArchive(ArchiveDescriptor *d, Error **error) { return metalsim::newArchive(d, error); }

void defineDevice() {
  Class *d = classOf<Device> = defineClass("MTLDevice", classOf<Object>, "10.11", true);
  method<&Device::name>(d, "name", "10.11");
  method<&Device::maxBufferLength>(d, "maxBufferLength", "10.14");
  method<&Device::recommendedMaxWorkingSetSize>(d, "recommendedMaxWorkingSetSize", "10.12");
  method<&Device::currentAllocatedSize>(d, "currentAllocatedSize", "10.13");
  method<&Device::maxThreadgroupMemoryLength>(d, "maxThreadgroupMemoryLength", "10.13");
  method<&Device::maxThreadsPerThreadgroup>(d, "maxThreadsPerThreadgroup", "10.11");
  method<&Device::hasUnifiedMemory>(d, "hasUnifiedMemory", "10.15");
  method<&Device::supportsFamily>(d, "supportsFamily:", "10.15");
  method<&Device::newCommandQueue>(d, "newCommandQueue", "10.11");
  method<&Device::newBufferWithLength>(d, "newBufferWithLength:options:", "10.11");
  method<&Device::newBufferWithBytesNoCopy>(d, "newBufferWithBytesNoCopy:length:options:deallocator:", "10.11");
  method<&Device::newLibraryWithSource>(d, "newLibraryWithSource:options:error:", "10.11");
  method<&Device::newLibraryWithUrl>(d, "newLibraryWithURL:error:", "10.13");
  method<&Device::newPipeline>(d, "newComputePipelineStateWithDescriptor:options:reflection:error:", "10.11");
  method<&Device::newIcb>(d, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", "10.14");
  method<&Device::newResidencySet>(d, "newResidencySetWithDescriptor:error:", "15.0");
  method<&Device::newArchive>(d, "newBinaryArchiveWithDescriptor:error:", "11.0");
}

namespace {

// Classes are there as soon as the library is loaded; a super class comes first.
__attribute__((constructor)) void defineClasses() {
  defineFoundation();
  defineBuffer();
  defineLibrary();
  defineIcb();
  defineResidency();
  defineQueue();
  defineEncoder();
  defineDevice();
}

}  // namespace
}  // namespace metalsim

EXPORT void *MTLCreateSystemDefaultDevice() {
  using namespace metalsim;
  std::lock_guard guard(apiLock());
  if (faultNow(Fault::Device)) return nullptr;
  if (device) return device->retain();
  duration::opened();
  return device = make<Device>();
}
