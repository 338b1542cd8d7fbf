// MTLDevice: its properties and the objects that it creates.
#pragma once

#include "icb.h"
#include "library.h"
#include "queue.h"
#include "residency.h"

namespace metalsim {

struct Device : Object {
  void dealloc() override;
  Object *name();
  uint64_t maxBufferLength();
  uint64_t recommendedMaxWorkingSetSize();
  uint64_t currentAllocatedSize();
  uint64_t maxThreadgroupMemoryLength();
  Size maxThreadsPerThreadgroup();
  bool hasUnifiedMemory();
  bool supportsFamily(int64_t family);

  Object *newCommandQueue();
  Object *newBufferWithLength(uint64_t length, uint64_t options);
  Object *newBufferWithBytesNoCopy(void *p, uint64_t length, uint64_t options, Object *deallocator);
  Object *newLibraryWithSource(String *source, CompileOptions *options, Error **error);
  Object *newLibraryWithUrl(Url *url, Error **error);
  Object *newPipeline(PipelineDescriptor *d, uint64_t options, void *reflection, Error **error);
  Object *newIcb(IcbDescriptor *d, uint64_t count, uint64_t options);
  Object *newResidencySet(ResidencySetDescriptor *d, Error **error);
  Object *newArchive(ArchiveDescriptor *d, Error **error);
};

void defineDevice();

}  // namespace metalsim
